import{f as t}from"./chunk-FJ6QMLBE.js";function n(e){t(()=>(document.title=`${e} – legwork`,()=>{document.title="legwork"}),[e])}export{n as a};
