/**
 * The version of the rules for search documents. Raise it by one with every change of how words are read (this folder)
 * or of the text that is read from a stored message (`kit/mime`). The role `jobs` then rewrites older documents, and
 * `auto` searches the providers of accounts that are not rewritten yet.
 */
export const SEARCH_VERSION = 2
