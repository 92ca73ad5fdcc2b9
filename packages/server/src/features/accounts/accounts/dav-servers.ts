import { refuseFailure } from '../../../calls/provider-failure.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Secret } from '../../../kit/secret.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { DavHomes } from '../../../providers/dav-server.ts'
import { DAV_HALVES, type DavPlan, type DavSettings } from './dav-plan.ts'
import type { SignIn } from './imap-servers.ts'

/** A URL that was only found may lead nowhere: then the next one is tried, and in the end the half is left out. */
const LEADS_NOWHERE = new Set(['not_dav_server', 'dav_discovery_failed', 'dav_unsupported'])

/**
 * Logs in to the DAV servers of a plan, and finds the homes of the halves that it wants. URLs that it lacks are looked for:
 * by the address, then at the IMAP server. Refuses if there is none of them, and on any failure of a URL that was given.
 */
export async function requireDav(
  { servers, serverSearch }: Pick<SignIn, 'servers' | 'serverSearch'>,
  plan: DavPlan,
  { email, imapHost, password }: { email: string; imapHost: string; password: Secret },
): Promise<DavSettings> {
  const { urls, user, auth } = plan
  const check = (given: DavHomes) => servers.dav({ ...given, user }, password.reveal())
  try {
    const homes = await check({
      calendarUrl: urls.calendarUrl ?? null,
      contactsUrl: urls.contactsUrl ?? null,
    })
    const sought = DAV_HALVES.filter(([, name]) => urls[name] === undefined)
    const found = sought.length === 0 ? null : await serverSearch.find(email)
    for (const [, name] of sought) {
      const places = [found?.dav?.[name], `https://${hostInUrl(imapHost)}/`]
      for (const place of new Set(places)) {
        if (!place || homes[name] !== null) continue
        const there = await check({ calendarUrl: null, contactsUrl: null, [name]: place }).catch(leadsNowhere)
        homes[name] = there?.[name] ?? null
      }
    }
    if (homes.calendarUrl === null && homes.contactsUrl === null) refuse('dav_discovery_failed')
    return { ...homes, user, auth }
  } catch (error) {
    return refuseFailure(error, 'sign_in')
  }
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** Null for a failure that shows that a found URL is of no use; others are thrown. */
function leadsNowhere(error: unknown): null {
  if (!(error instanceof ProviderFailure)) throw error
  const isNowhere = error.reason !== null && LEADS_NOWHERE.has(error.reason)
  if (isNowhere || error.kind === 'unavailable' || error.kind === 'not_allowed') return null
  throw error
}
