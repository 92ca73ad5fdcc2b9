import type { Asked, HalfAccess, Halves } from '../sign-in.ts'
import type { CloudRow } from './clouds.ts'

/** Scopes of the sign-in itself, which have no host (learn.microsoft.com/entra/identity-platform/scopes-oidc). */
const OF_SIGN_IN = ['openid', 'email', 'profile', 'offline_access']
/** Lets the address be read. */
const USER = 'User.Read'
const MAIL = ['Mail.ReadWrite', 'Mail.Send']
const SHARED_MAIL = ['Mail.ReadWrite.Shared', 'Mail.Send.Shared']
const CALENDARS = 'Calendars.ReadWrite'
const CONTACTS = 'Contacts.ReadWrite'
/** Lets the time zone of the mailbox be read, in which whole days of its calendars lie. */
const SETTINGS = 'MailboxSettings.Read'
/** By it, calendars and contacts of mailboxes that others share with the user are reached. */
const shared = (scope: string) => `${scope}.Shared`
const READING = ['Calendars.Read', 'Contacts.Read']
/** Scopes that include others. */
const WITHIN: Readonly<Record<string, readonly string[]>> = {
  'mail.readwrite': ['mail.read', 'mail.readbasic'],
  'mail.readwrite.shared': ['mail.read.shared', 'mail.readwrite', 'mail.read', 'mail.readbasic'],
  'mail.send.shared': ['mail.send'],
  'mail.read.shared': ['mail.read', 'mail.readbasic'],
  'mail.read': ['mail.readbasic'],
  ...withinKind('calendars'),
  ...withinKind('contacts'),
  'mailboxsettings.readwrite': ['mailboxsettings.read'],
}

/** Lists the scopes that a scope of calendars or contacts includes. A shared scope includes the user's own data. */
function withinKind(kind: 'calendars' | 'contacts'): Record<string, readonly string[]> {
  const read = `${kind}.read`
  return {
    [`${kind}.readwrite.shared`]: [`${kind}.read.shared`, `${kind}.readwrite`, read],
    [`${kind}.read.shared`]: [read],
    [`${kind}.readwrite`]: [read],
  }
}

/** The names that are written here, by their lower-case forms: answers vary the case. */
const KNOWN = new Map(
  [
    ...OF_SIGN_IN,
    USER,
    ...MAIL,
    ...SHARED_MAIL,
    ...READING,
    SETTINGS,
    ...[CALENDARS, CONTACTS].flatMap(scope => [scope, shared(scope)]),
  ].map(name => [name.toLowerCase(), name]),
)

/** The name of a scope of Graph without its host, in lower case; null for a scope of another interface. */
function nameOf(scope: string, { graph }: CloudRow): string | null {
  const lower = scope.toLowerCase()
  const host = `https://${graph}/`
  if (lower.startsWith(host)) return lower.slice(host.length)
  return lower.includes('://') ? null : lower
}

/** A scope as it is asked for and stored: with the Graph host of its cloud, unless it is a scope of the sign-in. */
function fullName(scope: string, row: CloudRow): string {
  const name = nameOf(scope, row)
  if (name === null) return scope
  const known = KNOWN.get(name)
  if (known !== undefined && OF_SIGN_IN.includes(known)) return known
  const written = known ?? scope.slice(scope.lastIndexOf('/') + 1)
  return `https://${row.graph}/${written}`
}

/** The scopes to request: those that the app names, else those of the data that is asked for. */
export function scopesFor(
  row: CloudRow,
  scopesOfApp: readonly string[] | null,
  { calendar, contacts, shared: isShared }: Asked,
): string[] {
  const ofData = scopesOfApp ?? [
    ...MAIL,
    ...(isShared ? SHARED_MAIL : []),
    ...[...(calendar ? [CALENDARS] : []), ...(contacts ? [CONTACTS] : [])].flatMap(scope =>
      isShared ? [scope, shared(scope)] : scope,
    ),
    ...(calendar ? [SETTINGS] : []),
  ]
  return [...new Set([...OF_SIGN_IN, USER, ...ofData].map(scope => fullName(scope, row)))]
}

/**
 * Lists of scopes to request for a grant whose scopes are not known, since Microsoft refuses a refresh that asks for more
 * than was granted. Only mail is needed, so the last list asks for nothing else.
 */
export function scopesToTry(row: CloudRow, scopesOfApp: readonly string[] | null, asked: Asked): string[][] {
  const halves = [{}, { contacts: false }, { calendar: false }, { calendar: false, contacts: false }]
  const lists = halves
    .flatMap(without => [
      { ...asked, ...without },
      { ...asked, ...without, shared: false },
    ])
    .map(each => scopesFor(row, scopesOfApp, each))
    // Calendars can be read without the zone of their mailbox.
    .flatMap(list => [list, scopesOfApp ? list : list.filter(scope => scope !== fullName(SETTINGS, row))])
  return [...new Map(lists.map(list => [list.join(' '), list])).values()]
}

/** Reads the `scope` of an answer. */
export function parseScopes(row: CloudRow, text: string): string[] {
  const names = text.split(' ').filter(name => name !== '')
  return [...new Set(names.map(name => fullName(name, row)))]
}

/** The scopes of a refresh: those that were granted. Answers never list `offline_access`. */
export function scopesOfRefresh(granted: readonly string[]): string[] {
  return [...new Set([...granted, 'openid', 'profile', 'offline_access'])]
}

export function readsMail(row: CloudRow, scopes: readonly string[]): boolean {
  return covers(row, scopes, 'mail.read')
}

/** Whether mailboxes of others can be read and changed. */
export function sharesMailboxes(row: CloudRow, scopes: readonly string[]): boolean {
  return covers(row, scopes, 'mail.readwrite.shared')
}

/**
 * Reads what the scopes allow with calendars and contacts.
 * @param isShared whether those of a mailbox that others share with the user are meant, and not the user's own
 */
export function halvesOf(row: CloudRow, scopes: readonly string[], isShared = false): Halves {
  const suffix = isShared ? '.shared' : ''
  const accessTo = (kind: 'calendars' | 'contacts'): HalfAccess => {
    if (covers(row, scopes, `${kind}.readwrite${suffix}`)) return 'writes'
    return covers(row, scopes, `${kind}.read${suffix}`) ? 'reads' : 'none'
  }
  return { calendar: accessTo('calendars'), contacts: accessTo('contacts') }
}

/** The requested scopes without those of calendars, contacts and settings. */
export function scopesOfMail(row: CloudRow, asked: readonly string[]): string[] {
  return asked.filter(scope => !/^(?:calendars|contacts|mailboxsettings)\./.test(nameOf(scope, row) ?? ''))
}

/** Whether all requested scopes were granted. Scopes of the sign-in are not looked at. */
export function isGranted(row: CloudRow, asked: readonly string[], granted: readonly string[]): boolean {
  return asked
    .filter(scope => !OF_SIGN_IN.includes(scope))
    .every(scope => covers(row, granted, nameOf(scope, row) ?? ''))
}

/** Whether mail can be read, and all requested scopes of mail were granted. Shared mailboxes may be left out. */
export function grantsMail(row: CloudRow, asked: readonly string[], granted: readonly string[]): boolean {
  const names = asked.map(scope => nameOf(scope, row) ?? '')
  const needed = names.filter(name => name.startsWith('mail.') && !name.endsWith('.shared'))
  return readsMail(row, granted) && needed.every(name => covers(row, granted, name))
}

function covers(row: CloudRow, granted: readonly string[], wanted: string): boolean {
  return granted.some(scope => {
    const name = nameOf(scope, row)
    return name !== null && (name === wanted || (WITHIN[name]?.includes(wanted) ?? false))
  })
}
