import"./chunk-PPI4EE6F.js";var e="Chat",h={none:e};export{h as default,e as none};
