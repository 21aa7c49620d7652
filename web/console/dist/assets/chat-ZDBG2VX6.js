import{a as n}from"./chunk-ENEYLYXP.js";import{n as t,o}from"./chunk-BM3QKHIY.js";import"./chunk-PPI4EE6F.js";function r(){let e=t();return o(n,{title:e("none"),icon:"chat"})}export{r as default};
