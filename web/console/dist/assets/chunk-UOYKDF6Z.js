import{f as t}from"./chunk-DDBO7VNF.js";function n(e){t(()=>(document.title=`${e} – legwork`,()=>{document.title="legwork"}),[e])}export{n as a};
