import"./chunk-PPI4EE6F.js";var o="Чат",a={none:o};export{a as default,o as none};
