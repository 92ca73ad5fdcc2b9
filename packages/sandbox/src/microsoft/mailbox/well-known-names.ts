/** Names by which the API finds folders, whatever they are called. */
const WELL_KNOWN_NAMES = [
  'archive',
  'clutter',
  'conflicts',
  'conversationhistory',
  'deleteditems',
  'drafts',
  'inbox',
  'junkemail',
  'localfailures',
  'msgfolderroot',
  'outbox',
  'recoverableitemsdeletions',
  'scheduled',
  'searchfolders',
  'sentitems',
  'serverfailures',
  'syncissues',
] as const

export type WellKnownName = (typeof WELL_KNOWN_NAMES)[number]
