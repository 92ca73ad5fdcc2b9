/** The tenant of all personal accounts (learn.microsoft.com/entra/identity-platform/id-token-claims-reference). */
const PERSONAL_TENANT = '9188040d-6c67-4c5b-b112-36a304b66dad'
const PREFIX = 'microsoft:'
const SHARED_PREFIX = `${PREFIX}inbox:`
const GUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** The ids of personal users are 64-bit numbers; their `oid` has zeros before. */
const PERSONAL_ID_DIGITS = 16

export interface MicrosoftUser {
  /** The directory of the user. */
  tid: string
  /** The user's id there. */
  oid: string
}

/** The lasting id of a user. Both ids are needed: a guest has one `oid` for each directory. */
export function subjectOf({ tid, oid }: MicrosoftUser): string {
  return `${PREFIX}${tid.toLowerCase()}:${oid.toLowerCase()}`
}

/**
 * The id of a user's mailbox in Graph: `{id}` of `/users/{id}`.
 * @throws RangeError if the subject is not of a user who signed in
 */
export function mailboxIdOf(subject: string): string {
  const [tid = '', oid = '', ...rest] = subject.startsWith(PREFIX)
    ? subject.slice(PREFIX.length).split(':')
    : []
  if (!GUID.test(tid) || !GUID.test(oid) || rest.length > 0)
    throw new RangeError('The subject is not that of a user of Microsoft')
  return tid === PERSONAL_TENANT ? oid.replaceAll('-', '').slice(-PERSONAL_ID_DIGITS) : oid
}

export function isPersonal({ tid }: Pick<MicrosoftUser, 'tid'>): boolean {
  return tid.toLowerCase() === PERSONAL_TENANT
}

/** The lasting id of a shared mailbox, which is the id of its inbox: addresses change. */
export function sharedSubjectOf(inboxId: string): string {
  return `${SHARED_PREFIX}${inboxId}`
}

/** @throws RangeError if the subject is not that of a shared mailbox */
export function inboxIdOf(subject: string): string {
  if (!subject.startsWith(SHARED_PREFIX)) throw new RangeError('The subject is not that of a shared mailbox')
  return subject.slice(SHARED_PREFIX.length)
}
