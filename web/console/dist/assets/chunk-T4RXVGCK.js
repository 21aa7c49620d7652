import{f as t}from"./chunk-IBRVB5QL.js";function n(e){t(()=>(document.title=`${e} – legwork`,()=>{document.title="legwork"}),[e])}export{n as a};
