import type { imapAccountInput } from '@waxwing/contract/accounts/account-inputs.ts'
import type { z } from 'zod'
import type { AccountSettingsOverride } from '@waxwing/contract/accounts/account-settings.ts'
import { refuse } from '../../../calls/refuse.ts'
import { registrableDomainOf } from '../../../kit/registrable-domain.ts'
import { Secret } from '../../../kit/secret.ts'
import type { ImapServers } from '../../../accounts/row.ts'

export type DavInput = NonNullable<z.infer<typeof imapAccountInput>['dav']>
export type DavSettings = NonNullable<ImapServers['dav']>

export const DAV_HALVES = [
  ['calendar', 'calendarUrl'],
  ['contacts', 'contactsUrl'],
] as const

/** DAV settings that are to be checked before they are stored. */
export interface DavPlan {
  /** The URL of each half: null leaves it out, and undefined has it looked for. */
  urls: { calendarUrl: string | null | undefined; contactsUrl: string | null | undefined }
  /** Null: the user of the IMAP server. */
  user: string | null
  auth: 'imap_password' | 'password'
  /** The password that was sent for DAV; null if there is none. */
  password: Secret | null
}

/**
 * Completes the settings that a caller named. Absent ones stay as they are; without present settings their URLs are looked
 * for. Refuses what needs no network to be seen as wrong.
 */
export function planDav(
  input: DavInput,
  {
    current,
    isOauth,
    allowPlaintext,
  }: { current: DavSettings | null; isOauth: boolean; allowPlaintext: boolean },
): DavPlan {
  const urls = {
    calendarUrl: input.calendarUrl === undefined ? current?.calendarUrl : input.calendarUrl,
    contactsUrl: input.contactsUrl === undefined ? current?.contactsUrl : input.contactsUrl,
  }
  if (urls.calendarUrl === null && urls.contactsUrl === null)
    refuseInput([], 'must name calendars or contacts; send dav: null for neither')
  for (const [, name] of DAV_HALVES) requireUrl(name, input[name], allowPlaintext)
  const password = input.password === undefined ? null : new Secret(input.password)
  const given = input.auth ?? (password ? 'password' : (current?.auth ?? 'imap_password'))
  const auth = given === 'password' ? 'password' : 'imap_password'
  if (auth === 'imap_password' && isOauth) refuse('password_unsupported')
  if (auth === 'imap_password' && password)
    refuseInput(['password'], 'must be left out with auth imap_password')
  if (auth === 'password' && !password && current?.auth !== 'password')
    refuseInput(['password'], 'is required with auth password')
  return { urls, user: input.user ?? current?.user ?? null, auth, password }
}

function requireUrl(
  name: 'calendarUrl' | 'contactsUrl',
  text: string | null | undefined,
  allowPlaintext: boolean,
): void {
  if (text === null || text === undefined) return
  const url = URL.parse(text)
  const isPlain = url?.protocol === 'http:'
  if (!url || (!isPlain && url.protocol !== 'https:') || url.username !== '' || url.password !== '')
    refuseInput([name], 'must be an https URL without a login')
  if (isPlain && !allowPlaintext) refuse('plaintext_not_allowed')
}

function refuseInput(path: readonly string[], message: string): never {
  refuse('invalid_input', { issues: [{ path: ['dav', ...path], message }] })
}

/**
 * The domains that a stored password may go to: those that it was given for. Otherwise a caller who may change the settings
 * but does not have the password could have it sent to a server of their own and read it there.
 * @param known hosts and URLs that the password is sent to already
 */
export function knownDomains(known: readonly (string | null | undefined)[]): ReadonlySet<string> {
  return new Set(known.flatMap(each => (each ? domainOf(each) : [])))
}

/** Whether the password may go to a URL. Null: it was sent with the request, and may go anywhere. */
export function mayGetPassword(url: string, domains: ReadonlySet<string> | null): boolean {
  return domains === null || domains.has(domainOf(url))
}

export function refuseUnknownDomain({ auth }: DavPlan): never {
  const field = auth === 'password' ? 'dav.password' : 'password'
  refuse('password_required', undefined, {
    message: `The stored password is not sent to a domain that it was not given for. Send ${field} together with the URL.`,
  })
}

function domainOf(hostOrUrl: string): string {
  return registrableDomainOf(URL.parse(hostOrUrl)?.hostname ?? hostOrUrl)
}

/** The account's own settings, with halves switched on that were found and that nobody has named yet. */
export function withFoundHalves(
  override: AccountSettingsOverride,
  before: DavSettings | null,
  after: DavSettings | null,
): AccountSettingsOverride {
  const isNew = ([, name]: (typeof DAV_HALVES)[number]) => !before?.[name] && Boolean(after?.[name])
  const found = new Set(DAV_HALVES.filter(isNew).map(([kind]) => kind))
  return {
    ...(found.has('calendar') && { calendarEnabled: true }),
    ...(found.has('contacts') && { contactsEnabled: true }),
    ...override,
  }
}
