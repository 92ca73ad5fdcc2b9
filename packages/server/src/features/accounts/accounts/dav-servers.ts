import { refuseFailure } from '../../../calls/provider-failure.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Secret } from '../../../kit/secret.ts'
import type { DavHomes } from '../../../providers/dav-server.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { MailServer } from '../../../providers/mail-server.ts'
import {
  DAV_HALVES,
  type DavPlan,
  type DavSettings,
  mayGetPassword,
  refuseUnknownDomain,
} from './dav-plan.ts'
import { logRefusedServer, type SignIn } from './imap-servers.ts'

/** A login to DAV servers that is to be tried. */
export interface DavLogin {
  plan: DavPlan
  password: Secret
  /** The domains that a stored password may go to; null if the password was sent with the request. */
  domains: ReadonlySet<string> | null
}

/** A URL that was only found may lead nowhere: then the next one is tried, and in the end the half is left out. */
const LEADS_NOWHERE = new Set(['not_dav_server', 'dav_discovery_failed', 'dav_unsupported'])

/**
 * Logs in to the DAV servers of a plan, and finds the homes of the halves that it wants. URLs that it lacks are looked for:
 * by the address, then at the IMAP server. Refuses if none is found, and on any failure of a URL that was given.
 */
export async function requireDav(
  context: Pick<RequestContext, 'requestId' | 'log'>,
  { servers, serverSearch }: Pick<SignIn, 'servers' | 'serverSearch'>,
  { plan, password, domains }: DavLogin,
  { email, imap }: { email: string; imap: MailServer },
): Promise<DavSettings> {
  const { urls, auth } = plan
  const user = plan.user ?? imap.user
  const check = (given: DavHomes) => servers.dav({ ...given, user }, password.reveal())
  let isHeldBack = false
  const mayAsk = (url: string) => {
    const may = mayGetPassword(url, domains)
    isHeldBack ||= !may
    return may
  }
  if (!DAV_HALVES.every(([, name]) => !urls[name] || mayAsk(urls[name]))) refuseUnknownDomain(plan)
  try {
    const homes = await check({
      calendarUrl: urls.calendarUrl ?? null,
      contactsUrl: urls.contactsUrl ?? null,
    })
    const sought = DAV_HALVES.filter(([, name]) => urls[name] === undefined)
    const found = sought.length === 0 ? null : await serverSearch.find(email)
    for (const [, name] of sought) {
      const places = [found?.dav?.[name], `https://${hostInUrl(imap.host)}/`]
      for (const place of new Set(places)) {
        if (!place || homes[name] !== null || !mayAsk(place)) continue
        const isProven = homes.calendarUrl !== null || homes.contactsUrl !== null
        const wanted = { calendarUrl: null, contactsUrl: null, [name]: place }
        const there = await check(wanted).catch((error: unknown) => leadsNowhere(error, isProven))
        homes[name] = there?.[name] ?? null
      }
    }
    if (homes.calendarUrl !== null || homes.contactsUrl !== null) return { ...homes, user, auth }
  } catch (error) {
    logRefusedServer(context, error)
    return refuseFailure(error, 'sign_in')
  }
  return isHeldBack ? refuseUnknownDomain(plan) : refuse('dav_discovery_failed')
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/**
 * Null for a failure that shows that a found URL is of no use; others are thrown.
 * @param isProven whether a server has accepted the login, so that another server that refuses it does not belong to the user
 */
function leadsNowhere(error: unknown, isProven: boolean): null {
  if (!(error instanceof ProviderFailure)) throw error
  const { kind, reason } = error
  const isNowhere = reason !== null && LEADS_NOWHERE.has(reason)
  if (isNowhere || kind === 'unavailable' || kind === 'not_allowed') return null
  if (kind === 'login_failed' && isProven) return null
  throw error
}
