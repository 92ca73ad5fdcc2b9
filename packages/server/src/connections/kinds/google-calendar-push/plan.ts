import { randomBytes, randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { forgetChannel, listChannels, recordChannel } from '../../../accounts/grants/channels.ts'
import { recordPushed } from '../../../accounts/halves/notice.ts'
import type { Db } from '../../../database/pool.ts'
import type { ChannelPlan } from '../../../providers/google-calendar/channels.ts'
import { type PushBase, pushAddress } from '../push-base.ts'
import { digestOf, NOTICE_PATH } from './receive.ts'

const TOKEN_BYTES = 32

/** How channels are kept for the calendars of an account. Null: it is only polled, without a public address. */
export function planChannels(db: Db, base: PushBase, accountId: string): ChannelPlan | null {
  const address = pushAddress(base, NOTICE_PATH)
  if (address === null) return null
  return {
    address,
    newChannel: () => ({ id: randomUUID(), token: randomBytes(TOKEN_BYTES).toString('base64url') }),
    async read() {
      const channels = await listChannels(db, accountId)
      return channels.map(({ isOfGrant, ...channel }) => ({
        ...channel,
        leadsHere: isOfGrant && channel.address === address,
      }))
    },
    async record({ token, ...channel }) {
      const opened = { ...channel, address, tokenDigest: digestOf(token) }
      const isKept = await recordChannel(db, accountId, opened)
      // Changes since the last look came before there was a channel, or before it was stored.
      if (isKept) await recordPushed(db, 'calendar', sql<boolean>`account.id = ${accountId}`)
      return isKept
    },
    forget: id => forgetChannel(db, id),
  }
}
