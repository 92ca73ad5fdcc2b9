import type { BounceCounts } from '../bounces/record-bounces.ts'
import type { FailedInvitation } from '../invitations/failures.ts'

/** Ends of messages that metrics and the log report, once they are committed. */
export interface EndNews {
  /** Recipients of sends that were announced as bounced. */
  counts: BounceCounts
  failed: FailedInvitation[]
}

export type OnEnded = (news: EndNews) => void

export function noNews(): EndNews {
  return { counts: { hard: 0, soft: 0 }, failed: [] }
}

export function addNews(news: EndNews, more: EndNews): void {
  news.counts.hard += more.counts.hard
  news.counts.soft += more.counts.soft
  news.failed.push(...more.failed)
}
