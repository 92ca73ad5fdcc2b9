import type { AccountView } from '../row.ts'
import type { OtherKind } from './kind.ts'

/** Data that comes with a mailbox. */
const OF_MAILBOX = 'mailbox'

const URLS = { calendar: 'calendarUrl', contacts: 'contactsUrl' } as const

/** The place that data of an account comes from: host and path. Null if the account has none. */
export function homeOf({ imap }: Pick<AccountView, 'imap'>, kind: OtherKind): string | null {
  if (!imap) return OF_MAILBOX
  const url = URL.parse(imap.dav?.[URLS[kind]] ?? '')
  return url && `${url.host}${url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`}`
}
