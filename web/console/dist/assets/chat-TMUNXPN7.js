import"./chunk-PPI4EE6F.js";var o="聊天",a={none:o};export{a as default,o as none};
