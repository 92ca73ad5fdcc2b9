import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { sql } from 'kysely'
import { expect } from 'vitest'
import { accountKeys } from '../../src/accounts/secrets.ts'
import { openInvitationMails } from '../../src/features/calendars/invitations/invitation-mails.ts'
import { openLargeContents } from '../../src/features/sending/accepting/large-contents.ts'
import { environmentKeyRing } from '../../src/kit/key-ring.ts'
import type { Logger } from '../../src/kit/log.ts'
import { openSlicedWork } from '../../src/kit/sliced-work.ts'
import { DAY_MS } from '../../src/kit/wall-clock.ts'
import type { RemoteAttendee } from '../../src/providers/calendars.ts'
import { openCalendarDoor } from '../calendar-door.ts'
import { openTestDatabase } from '../open-database.ts'
import { Killed, timesAt, TODAY } from './calendar-history.ts'
import { readShown } from './equal-index.ts'

const NINE = 9 * 3_600_000
/** Nine o'clock, so many days from today. */
export const at = (days: number) => new Date(TODAY + days * DAY_MS + NINE).toISOString()

const SMTP = { host: 'smtp.example.com', port: 465, security: 'tls', user: 'ada' }

export const guest = (name: string): RemoteAttendee => ({
  name: null,
  address: `${name}@example.com`,
  type: 'required',
  response: 'needs_action',
})

export type MailingDoor = Awaited<ReturnType<typeof openMailingDoor>>
export type MailingAccount = Awaited<ReturnType<MailingDoor['openMailingAccount']>>

/** A front door of calendars whose people are told by mail. Mails are queued, and nobody sends them. */
export async function openMailingDoor({ log, onGivenUp }: { log?: Logger; onGivenUp?: () => void } = {}) {
  await using opened = new AsyncDisposableStack()
  /** The process is killed at this moment of a write. */
  let kill: { countdown: number } | null = null
  async function reach(): Promise<void> {
    if (kill && --kill.countdown === 0) throw new Killed()
  }
  const dropped: Array<{ eventId: string | null }> = []
  const keys = accountKeys(environmentKeyRing(Buffer.alloc(32, 1).toString('base64')))
  const invitations = {
    accountKeys: keys,
    largeContents: openLargeContents(),
    slicesOf: openSlicedWork(),
    reach,
    dropped: (of: { eventId: string | null }) => void dropped.push(of),
  }
  const database = opened.use(await openTestDatabase())
  const { db } = database
  const days = { past: 90, ahead: 365 }
  const mails = openInvitationMails({ db, days, clock: { now: () => Date.now() }, invitations })
  const prepare: typeof mails.prepare = async (...write) => {
    await reach()
    const queue = await mails.prepare(...write)
    return async unit => {
      await reach()
      await queue(unit)
      await reach()
    }
  }
  const logged = { ...(log && { log }), ...(onGivenUp && { onGivenUp }) }
  const door = opened.use(await openCalendarDoor(database, { mails: { ...mails, prepare }, ...logged }))

  /**
   * An account whose provider sends no invitations, with a series to which bob and eve are invited, and an event to which its
   * own address is invited.
   */
  async function openMailingAccount() {
    const account = await door.openAccount('files')
    const { memory, path } = account
    const keyed = { id: account.id, tenant_id: door.door.tenantId }
    const dataKey = await db.transaction().execute(tx => keys.createDataKey(tx, keyed))
    await sql`
      update account set data_key = ${dataKey}, imap = jsonb_set(imap, '{smtp}', ${JSON.stringify(SMTP)}::jsonb)
      where id = ${account.id}
    `.execute(db)
    memory.tellsPeople = false
    const [first = ''] = memory.calendars.keys()
    const organizer = { name: 'Ada', address: `${account.id}@example.com` }
    const fields = {
      ...timesAt(TODAY + NINE),
      subject: 'Daily',
      organizer,
      attendees: [guest('bob'), guest('eve')],
    }
    memory.add(first, fields, { recurrence: ['RRULE:FREQ=DAILY;COUNT=5'] })
    const guests = [{ ...guest('ada'), address: organizer.address }]
    const invited = { ...timesAt(TODAY + 9 * DAY_MS), organizer: guest('boss'), attendees: guests }
    memory.add(first, { ...invited, subject: 'Invitation' })
    memory.createCalendar('second')
    await account.pass()
    const events = `${path}/calendar-events`
    const { body } = await door.get<{ items: Array<{ id: string; seriesId: string }> }>(
      `${events}?start=${at(-1)}&end=${at(20)}`,
    )
    const calendars = (await door.get<{ items: Calendar[] }>(`${path}/calendars`)).body.items
    const [occurrence] = body.items.slice(2)
    const invitation = body.items.at(-1)!.id
    const initial = await readShown(db, account.id)
    return {
      ...account,
      organizer,
      initial,
      events,
      occurrence: occurrence!.id,
      series: occurrence!.seriesId,
      invitation,
      calendars,
    }
  }

  const owner = opened.move()
  return {
    ...door,
    openMailingAccount,
    /** The process is killed at the moment of this number, until it is set to null. */
    killAt: (countdown: number | null) => void (kill = countdown === null ? null : { countdown }),
    reach,
    /** Mails that could not be made. */
    dropped,
    /** The mails that were queued: the recipients of each. */
    async readQueued(accountId: string): Promise<string[]> {
      const { rows } = await sql<{ to: Array<{ address: string }> }>`
        select "to" from outbox where account_id = ${accountId} and origin = 'invitation'
      `.execute(db)
      return rows.map(({ to }) => to.map(one => one.address.split('@')[0]).join(',')).toSorted()
    },
    /** As if the process had been away for a while. */
    endLeases: (accountId: string) =>
      sql`
        update calendar_intent set leased_until = leased_until - interval '2 minutes' where account_id = ${accountId}
      `.execute(db),
    async expectNoIntent(accountId: string): Promise<void> {
      const { rows } = await sql`select from calendar_intent where account_id = ${accountId}`.execute(db)
      expect(rows).toEqual([])
    },
    [Symbol.asyncDispose]: () => owner.disposeAsync(),
  }
}
