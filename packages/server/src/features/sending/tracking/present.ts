import { type SendTracking, TRACKED_LINKS_SHOWN_MAX } from '@waxwing/contract/sending/tracking.ts'
import type { ItemRow, TrackingRow } from './store.ts'

/** @param urls of the message, by the index of the link */
export function presentTracking(
  row: TrackingRow,
  items: readonly ItemRow[],
  urls: readonly string[],
): SendTracking {
  const links = urls.map((url, index) => ({ url, count: row.link_clicks[index] ?? 0 }))
  return {
    trackOpens: row.track_opens,
    trackClicks: row.track_clicks,
    opens: {
      count: row.opens,
      machineCount: row.machine_opens,
      firstAt: row.first_opened_at?.toISOString() ?? null,
      lastAt: row.last_opened_at?.toISOString() ?? null,
    },
    clicks: {
      count: row.clicks,
      machineCount: row.machine_clicks,
      firstAt: row.first_clicked_at?.toISOString() ?? null,
      lastAt: row.last_clicked_at?.toISOString() ?? null,
      links: links.toSorted((one, other) => other.count - one.count).slice(0, TRACKED_LINKS_SHOWN_MAX),
    },
    items: items.map(item => ({
      type: item.kind,
      url: item.link === null ? null : (urls[item.link] ?? null),
      isMachine: item.is_machine,
      ip: item.ip,
      userAgent: item.user_agent,
      occurredAt: item.occurred_at.toISOString(),
    })),
  }
}
