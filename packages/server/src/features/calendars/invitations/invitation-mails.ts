import { isMailAddress } from '@waxwing/contract/mail/address-input.ts'
import { sql } from 'kysely'
import { findAccountView } from '../../../accounts/store.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction, type UnitOfWork } from '../../../events/unit-of-work.ts'
import type { Clock } from '../../../kit/clock.ts'
import { printWall } from '../../../kit/wall-clock.ts'
import { requireMayInvite } from '../../sending/invitations/access.ts'
import { queueInvitations } from '../../sending/invitations/queue-invitations.ts'
import {
  type InvitationServices,
  type WrittenInvitation,
  writeInvitations,
} from '../../sending/invitations/write-invitations.ts'
import { findCalendarFacts } from '../calendars/record-account.ts'
import { keptWindow, type WindowDays } from '../events/window.ts'
import { sendsNothing, type WriteMails } from '../writing/mails.ts'
import type { MessageOptions } from './plan-messages.ts'
import { countMails, writtenSteps } from './plan-write.ts'
import { type EventMail, mailSteps } from './write-mails.ts'

/** Sends the people of an event invitations and replies by mail (iMIP, RFC 6047). */
export function openInvitationMails({
  db,
  days,
  clock,
  invitations,
}: {
  db: Db
  days: WindowDays
  clock: Clock
  invitations: InvitationServices
}): WriteMails {
  async function optionsOf(accountId: string): Promise<MessageOptions> {
    const now = clock.now()
    const from = printWall(keptWindow(days, now).start.getTime())
    const { own, self } = await findCalendarFacts(db, accountId)
    return { own, self, now: new Date(now), from, isMailable: isMailAddress }
  }

  return {
    async requireSendable(context, account, { asked, mailed }) {
      const count = countMails(asked, mailed?.before ?? null, await optionsOf(account.id))
      await requireMayInvite(context.db, account, count)
    },

    drop: invitations.dropped,

    async prepare({ id: accountId, tenantId }, { id: writeId, intent, written, isOvertaken }) {
      const account = await findAccountView(db, tenantId, accountId)
      if (!account) return sendsNothing
      const inSlices = invitations.slicesOf(tenantId)
      const before = intent.mailed?.before ?? null
      const made = { asked: intent.asked, before, written, isOvertaken }
      const options = await optionsOf(accountId)
      const eventIdOf = (uid: string) => (before?.uid === uid ? (intent.item?.id ?? null) : null)
      let planned: EventMail[]
      try {
        planned = await inSlices(mailSteps(await inSlices(writtenSteps(made, options)), writeId))
      } catch (error) {
        // The event is written already, and another try would fail as well.
        invitations.dropped({ tenantId, accountId, eventId: intent.item?.id ?? null, error })
        return sendsNothing
      }
      if (planned.length === 0) return sendsNothing
      const mails = planned.map(({ mail }) => mail)
      const step = <T>(work: (unit: UnitOfWork) => Promise<T>) => inTransaction(db, tenantId, work)
      const contents = await writeInvitations(invitations, account, mails, step)
      const uidOf = new Map(planned.map(({ mail, uid }) => [mail.id, uid]))
      return async unit => {
        const named = await nameEvents(unit, accountId, contents, { uidOf, eventIdOf })
        await queueInvitations(unit, account, named)
      }
    },
  }
}

/** Names the events that mails are about by their ids, which new ones have once they are recorded. */
async function nameEvents(
  unit: UnitOfWork,
  accountId: string,
  written: readonly WrittenInvitation[],
  { uidOf, eventIdOf }: { uidOf: ReadonlyMap<string, string>; eventIdOf: (uid: string) => string | null },
): Promise<WrittenInvitation[]> {
  const uids = [...new Set(uidOf.values())]
  const { rows } = await sql<{ uid: string; id: string }>`
    select uid, id from calendar_event
    where account_id = ${accountId} and uid = any(${uids}::text[]) and kind <> 'exception'
  `.execute(unit.sql)
  const found = new Map(rows.map(({ uid, id }) => [uid, id]))
  return written.map(one => {
    const uid = uidOf.get(one.id)!
    return { ...one, eventId: eventIdOf(uid) ?? found.get(uid) ?? one.eventId }
  })
}
