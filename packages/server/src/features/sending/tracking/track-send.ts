import type { AccountView } from '../../../accounts/row.ts'
import { effectiveSettings } from '../../../accounts/settings.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'
import type { InSlices } from '../../../kit/sliced-work.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { findModule } from '../../tenancy/plans/store.ts'
import { hasLinks } from '../../tenancy/tenants/store.ts'
import type { Links } from '../links.ts'
import { sealLinks } from './sealed-links.ts'
import { mayTrack, NOTHING, planTracking } from './rules.ts'
import {
  type PlacesFinder,
  placesFinder,
  TRACKED_HTML_LENGTH_MAX,
  trackHtml,
  type Tracking,
} from './track-html.ts'

export interface TrackingServices {
  accountKeys: AccountKeys
  links: Links
  /** Reads HTML on the event loop, a slice at a time. */
  slicesOf(tenantId: string): InSlices
}

/** The wishes of a request about tracking. */
export interface AskedTracking {
  trackOpens?: boolean | undefined
  trackClicks?: boolean | undefined
}

/** Plans the tracking of the messages of a request. Refuses tracking that is asked for and cannot be done. */
export async function requireTracking(
  { db, tenantId }: Pick<RequestContext, 'db' | 'tenantId'>,
  { links }: Pick<TrackingServices, 'links'>,
  account: AccountView,
  { asked, hasHtml }: { asked: AskedTracking; hasHtml: boolean },
): Promise<Tracking> {
  const settings = effectiveSettings(account.tenant_settings, account)
  if (!mayTrack({ settings, asked })) return NOTHING
  const hasModule = await findModule(db, tenantId, 'tracking')
  const isPublic = (links.base?.isPublic ?? false) && (await hasLinks(db, tenantId))
  const planned = planTracking({
    settings,
    asked,
    hasModule,
    isPublic,
    hasHtml,
  })
  return typeof planned === 'string' ? refuse(planned) : planned
}

/** The tracking that an entry keeps. */
export interface SendTracking {
  opens: boolean
  clicks: boolean
  /** The URLs of its links, sealed; null if clicks are not tracked. */
  links: Buffer | null
}

export const UNTRACKED: SendTracking = { opens: false, clicks: false, links: null }

/** Tracks one message while it is composed. */
export interface SendTracker {
  /** Makes the HTML as its recipients get it; null: nothing is tracked. */
  wireHtml: ((html: string) => Promise<string>) | null
  /** Known once the message is composed. One without HTML, or with too much of it, is not tracked. */
  result(): SendTracking
}

export function createSendTracker(
  { accountKeys, links, slicesOf }: TrackingServices,
  account: AccountView,
  tracking: Tracking,
  {
    outboxId,
    placesOf = placesFinder(TRACKED_HTML_LENGTH_MAX, slicesOf(account.tenant_id)),
  }: { outboxId: string; placesOf?: PlacesFinder },
): SendTracker {
  const { opens, clicks } = tracking
  if (!opens && !clicks) return { wireHtml: null, result: () => UNTRACKED }
  let urls: readonly string[] | null = null
  return {
    async wireHtml(html) {
      const places = await placesOf(html)
      if (!places) return html
      const tracked = trackHtml(html, tracking, { outboxId, links, places })
      ;({ urls } = tracked)
      return tracked.html
    },
    result() {
      if (urls === null) return UNTRACKED
      if (!clicks) return { opens, clicks, links: null }
      return { opens, clicks, links: sealLinks(accountKeys, account, outboxId, urls) }
    },
  }
}

/** Refuses a message for which tracking was asked, but that turned out to have no HTML that can be changed. */
export function requireTracked(tracker: SendTracker, asked: AskedTracking): void {
  const { opens, clicks } = tracker.result()
  if ((asked.trackOpens === true && !opens) || (asked.trackClicks === true && !clicks))
    refuse('tracking_unsupported')
}
