import { type RawBuilder, sql } from 'kysely'
import { expect, test } from 'vitest'
import type { TestApp } from '../open-app.ts'
import { startCyrus } from '../servers/cyrus.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { readFeed, readMessages } from './followed-account.ts'
import {
  messageEvents,
  openProxiedAccount,
  shortMessage,
  waitForAnotherPass,
  waitForMessageEvents,
} from './proxied-account.ts'
import { casesFor } from '../soak.ts'

/** The damage to a mailbox's cursor, by the mailbox's name. Null deletes the cursor. */
const DAMAGES: Record<string, RawBuilder<unknown> | null> = {
  Wiped: null,
  Text: sql`'"garbage"'::jsonb`,
  Number: sql`'7'::jsonb`,
  List: sql`'[1, {"version": 1}]'::jsonb`,
  Null: sql`'null'::jsonb`,
  Version: sql`cursor || '{"version": 99}'`,
  Behind: sql`cursor || '{"uidNext": 3, "highestModseq": "1"}'`,
  Ahead: sql`cursor || '{"uidNext": 4000000000}'`,
  Count: sql`cursor || '{"exists": 3000}'`,
  Flags: sql`cursor || '{"highestModseq": "9000000000000000000"}'`,
  Other: sql`cursor || '{"mailboxId": "no such"}'`,
  Renumbered: sql`cursor || '{"uidValidity": 1}'`,
}
const PER_MAILBOX = 10
/** The message that is deleted from a mailbox, and that the outdated cursor does not cover. */
const GONE = 5

const SERVERS = [
  ['Dovecot', () => startDovecot()],
  ['a poor Dovecot', () => startDovecot({ flavour: 'poor' })],
  ['Cyrus', () => startCyrus()],
] as const

test.concurrent.each(casesFor(SERVERS, ([name]) => name === 'Cyrus'))(
  'on %s a deleted or damaged cursor repeats no event, loses no message and hides no change',
  async (_, start) => {
    await using account = await openProxiedAccount({
      start,
      async arrange(world) {
        for (const name of Object.keys(DAMAGES)) {
          await world.createMailbox(world.at(name))
          const mail = Array.from({ length: PER_MAILBOX }, (_message, number) =>
            shortMessage(`${name} ${number}`),
          )
          await world.deliver(mail, world.at(name))
        }
      },
    })
    const { app, world, proxy, accountId, cursor } = account
    const before = await idsBySubject(app, accountId)
    await app.db.transaction().execute(async transaction => {
      for (const [name, damage] of Object.entries(DAMAGES)) {
        const change = damage ? sql`update sync_cursor set cursor = ${damage}` : sql`delete from sync_cursor`
        const { numAffectedRows } = await sql`
        ${change} where source in (select source from mailbox where name = ${name})
      `.execute(transaction)
        expect(numAffectedRows).toBe(1n)
      }
    })
    for (const name of Object.keys(DAMAGES)) {
      const uid = (await world.uids(world.at(name)))[GONE] ?? 0
      await world.deliver(shortMessage(`${name} new`), world.at(name))
      await world.expunge(world.at(name), [uid])
    }
    const expected = Object.keys(DAMAGES).flatMap(name => [
      `message.created message ${name} new`,
      `message.deleted message ${name} ${GONE}`,
    ])
    await waitForMessageEvents(app, cursor, expected.length)
    await waitForAnotherPass(proxy)
    expect(messageEvents((await readFeed(app, cursor)).events).toSorted()).toEqual(expected.toSorted())
    const after = await idsBySubject(app, accountId)
    for (const name of Object.keys(DAMAGES)) {
      for (let number = 0; number < PER_MAILBOX; number++) {
        if (number === GONE) continue
        const subject = `message ${name} ${number}`
        expect([subject, after.get(subject)]).toEqual([subject, before.get(subject)])
      }
    }
  },
)

async function idsBySubject(app: TestApp, accountId: string) {
  return new Map((await readMessages(app, accountId)).map(({ id, subject }) => [subject, id]))
}
