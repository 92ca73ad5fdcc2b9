import { createHash, timingSafeEqual } from 'node:crypto'
import { sql } from 'kysely'
import { findChannel } from '../../../accounts/grants/channels.ts'
import { recordPushed } from '../../../accounts/halves/notice.ts'
import type { Db } from '../../../database/pool.ts'
import type { Waker } from '../../../database/wake.ts'
import type { PushReceiver } from '../../../kit/push-receiver.ts'

export const NOTICE_PATH = '/push/google-calendar'

/** Notices have no body. */
const BODY_BYTES_MAX = 1_024
const CHANNEL_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const TOKEN = /^[\w-]{43}$/
/** The state that the first notice of a channel has. It reports no change. */
const SYNC = 'sync'

export interface CalendarPushOptions {
  db: Db
  waker: Pick<Waker, 'wake'>
}

export const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/**
 * Takes notices of Google Calendar, which are headers alone. A notice proves itself by the token of its channel. One of a
 * channel that is not known, or with another token, costs one look-up.
 */
export function googleCalendarPushReceiver({ db, waker }: CalendarPushOptions): PushReceiver {
  return {
    path: NOTICE_PATH,
    bodyBytesMax: BODY_BYTES_MAX,
    needsAuthorization: false,
    takenStatus: 204,
    async receive({ header }) {
      const [id, token] = [header('x-goog-channel-id') ?? '', header('x-goog-channel-token') ?? '']
      if (!CHANNEL_ID.test(id) || !TOKEN.test(token)) return 'forged'
      const channel = await findChannel(db, id)
      if (!channel || !timingSafeEqual(channel.tokenDigest, digestOf(token))) return 'forged'
      if (header('x-goog-resource-state') === SYNC) return 'taken'
      const isMeant = sql<boolean>`account.id = ${channel.accountId}`
      for (const woken of await recordPushed(db, 'calendar', isMeant)) waker.wake(woken, 'waxwing_notice')
      return 'taken'
    },
  }
}
