import path from 'node:path'

/** How the files of modules end: `.ts` in a clone, and `.js` in a package, which holds no TypeScript. */
export const MODULE_SUFFIX = path.extname(import.meta.filename)
