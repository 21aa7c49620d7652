import{f as t}from"./chunk-5GFBBC2F.js";function n(e){t(()=>(document.title=`${e} – legwork`,()=>{document.title="legwork"}),[e])}export{n as a};
