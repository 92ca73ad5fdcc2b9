import type { Asked, HalfAccess, Halves } from '../sign-in.ts'

const API = 'https://www.googleapis.com/auth/'
const EVERYTHING_OF_MAIL = 'https://mail.google.com/'
const MODIFY = `${API}gmail.modify`
const SETTINGS = `${API}gmail.settings.basic`
const CALENDAR = `${API}calendar`
/** Scopes that list calendars, without which their events are of no use (developers.google.com, CalendarList: list). */
const LISTING = [
  CALENDAR,
  ...['readonly', 'calendarlist', 'calendarlist.readonly'].map(name => `${CALENDAR}.${name}`),
]
const CONTACTS = `${API}contacts`

/** Scopes that identify the user. Google answers with the long names. */
export const OPENID = 'openid'
export const PROFILE = `${API}userinfo.profile`
const LONG_NAMES: Readonly<Record<string, string>> = { email: `${API}userinfo.email`, profile: PROFILE }

/** What `gmail.modify` allows besides itself. */
const WITHIN_MODIFY = new Set(
  ['readonly', 'metadata', 'labels', 'insert', 'compose', 'send'].map(name => `${API}gmail.${name}`),
)

export function scopesFor(scopesOfApp: readonly string[] | null, { calendar, contacts }: Asked): string[] {
  const ofData = scopesOfApp ?? [
    MODIFY,
    SETTINGS,
    ...(calendar ? [CALENDAR] : []),
    ...(contacts ? [CONTACTS] : []),
  ]
  return [...new Set([OPENID, 'email', 'profile', ...ofData])]
}

/** Reads the `scope` of an answer. */
export function parseScopes(text: string): string[] {
  const names = text.split(' ').filter(name => name !== '')
  return [...new Set(names.map(name => LONG_NAMES[name] ?? name))]
}

/** `gmail.metadata` shows headers only. */
export function readsMail(scopes: readonly string[]): boolean {
  return [EVERYTHING_OF_MAIL, MODIFY, `${API}gmail.readonly`].some(scope => scopes.includes(scope))
}

/**
 * Whether the user lets the settings of the mailbox be read. Gmail allows it with less, but only this scope mentions
 * the settings to the user.
 */
export function readsSettings(scopes: readonly string[]): boolean {
  return scopes.includes(SETTINGS)
}

/**
 * Reads what the scopes allow with calendars and contacts. Scopes for free/busy times, settings, other contacts or a directory
 * alone allow nothing that is used here.
 */
export function halvesOf(scopes: readonly string[]): Halves {
  const hasAny = (names: readonly string[]) => names.some(name => scopes.includes(name))
  const lists = hasAny(LISTING)
  const calendar = accessOf({
    writes: hasAny([CALENDAR]) || (lists && hasAny([`${CALENDAR}.events`])),
    reads: hasAny([`${CALENDAR}.readonly`]) || (lists && hasAny([`${CALENDAR}.events.readonly`])),
  })
  const contacts = accessOf({ writes: hasAny([CONTACTS]), reads: hasAny([`${CONTACTS}.readonly`]) })
  return { calendar, contacts }
}

function accessOf({ writes, reads }: { writes: boolean; reads: boolean }): HalfAccess {
  if (writes) return 'writes'
  return reads ? 'reads' : 'none'
}

/** Whether mail can be read, and all requested scopes of mail were granted. Settings may be left out. */
export function grantsMail(asked: readonly string[], granted: readonly string[]): boolean {
  return readsMail(granted) && asked.filter(isOfMail).every(scope => covers(granted, scope))
}

function isOfMail(scope: string): boolean {
  if (scope.startsWith(`${API}gmail.settings.`)) return false
  return scope === EVERYTHING_OF_MAIL || scope.startsWith(`${API}gmail.`)
}

function covers(granted: readonly string[], scope: string): boolean {
  return (
    granted.includes(scope) ||
    granted.includes(EVERYTHING_OF_MAIL) ||
    (WITHIN_MODIFY.has(scope) && granted.includes(MODIFY))
  )
}
