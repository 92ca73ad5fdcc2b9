import type { AccountView } from '../row.ts'
import type { OtherKind } from './kind.ts'

/** Data that comes with a mailbox. */
const OF_MAILBOX = 'mailbox'

/** The URLs among the DAV settings of an account, by their data. */
export const DAV_URLS = { calendar: 'calendarUrl', contacts: 'contactsUrl' } as const

/** The place that data of an account comes from: host and path. Null if the account has none. */
export function homeOf({ imap }: Pick<AccountView, 'imap'>, kind: OtherKind): string | null {
  if (!imap) return OF_MAILBOX
  const url = URL.parse(imap.dav?.[DAV_URLS[kind]] ?? '')
  return url && `${url.host}${url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`}`
}
