/**
 * The version of what a search document holds. Raise it by one with every change of how words are read (this folder) or
 * of the text that is read from a stored message (`kit/mime`): the role `jobs` then rewrites the documents of earlier
 * versions, and `auto` asks the provider about accounts that are not rewritten yet.
 */
export const SEARCH_VERSION = 1
