import type { AccountSettings } from '@waxwing/contract/accounts/account-settings.ts'
import type { Tracking } from './track-html.ts'

/** Everything that decides whether a message can be tracked. */
export interface TrackingTerms {
  /** The settings of the account as they take effect. */
  settings: Pick<AccountSettings, 'trackOpens' | 'trackClicks' | 'trackingHoneypot'>
  /** The wishes of the request. */
  asked: { trackOpens?: boolean | undefined; trackClicks?: boolean | undefined }
  /** Whether the plan includes tracking. */
  hasModule: boolean
  /** Whether recipients can reach the service, and links of the tenant are on. */
  isPublic: boolean
  hasHtml: boolean
}

export const NOTHING: Tracking = { opens: false, clicks: false, honeypot: false }

/** Whether the request or the settings ask for tracking. */
export function mayTrack({ settings, asked }: Pick<TrackingTerms, 'settings' | 'asked'>): boolean {
  return (asked.trackOpens ?? settings.trackOpens) || (asked.trackClicks ?? settings.trackClicks)
}

/**
 * Plans the tracking of a message, or returns the reason against it. Tracking that only the settings ask for is left
 * out if it cannot work.
 */
export function planTracking(
  terms: TrackingTerms,
): Tracking | 'plan_module_unavailable' | 'tracking_unsupported' {
  const { settings, asked, hasModule, isPublic, hasHtml } = terms
  const isAsked = asked.trackOpens === true || asked.trackClicks === true
  if (!mayTrack(terms)) return NOTHING
  if (!hasModule) return isAsked ? 'plan_module_unavailable' : NOTHING
  if (!isPublic || !hasHtml) return isAsked ? 'tracking_unsupported' : NOTHING
  const clicks = asked.trackClicks ?? settings.trackClicks
  return {
    opens: asked.trackOpens ?? settings.trackOpens,
    clicks,
    honeypot: clicks && settings.trackingHoneypot,
  }
}
