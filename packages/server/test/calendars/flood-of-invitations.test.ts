import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { liveMemory } from '../live-memory.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startRadicale } from '../servers/radicale.ts'
import { useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { openSyncApp, readMessages } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { dayAhead } from './caldav-account.ts'
import { invitationMail } from './invitation-mail.ts'
import { connectPerson, untilQuiet } from './people.ts'

/** Mails that invite one person, and the events that they are about. */
const MAILS = Number(process.env['WAXWING_TEST_INVITATIONS'] ?? 60)
const EVENTS = Math.min(500, Math.ceil(MAILS / 2))
/** Memory in use when the garbage was collected. */
const MEMORY_MB_MAX = 400
const LOOK_SECONDS = 5

const opened = useServer(() => openSyncApp({ roles: ['api', 'sync', 'jobs'] }))
const dovecot = useServer(startDovecot)
const radicale = useServer(startRadicale)

async function connect(name: string) {
  const user = await dovecot().addUser()
  const davUser = await radicale().addUser()
  const places = { mail: dovecot(), user, dav: radicale(), davUser, smtp: null }
  return { person: await connectPerson(opened(), name, places), world: await openWorld(dovecot(), user) }
}

const colleagueOf = (email: string) => `colleague@${email.split('@')[1]}`

const mailTo = (email: string, nth: number): string =>
  invitationMail({
    method: 'REQUEST',
    organizer: colleagueOf(email),
    attendee: email,
    uid: `event-${nth % EVENTS}@partner`,
    start: `${dayAhead(1 + (nth % 60))}T110000Z`,
    subject: `Flood ${nth % EVENTS}`,
    sequence: Math.floor(nth / EVENTS),
    minute: 10,
  })

const letter = (subject: string) => `From: kim@partner.example\r\nSubject: ${subject}\r\n\r\nHello.\r\n`

test('a flood of invitations to one person holds up neither those of others nor mail', async () => {
  const app = opened()
  await using stack = new AsyncDisposableStack()
  const [flooded, other] = [await connect('Flooded'), await connect('Other')]
  for (const { world } of [flooded, other]) stack.use(world)
  const memory = liveMemory()
  const before = memory()
  let peak = before
  const looking = setInterval(() => (peak = Math.max(peak, memory())), LOOK_SECONDS * 1000)
  stack.defer(() => clearInterval(looking))

  const { email, accountId } = flooded.person
  await flooded.world.deliver(Array.from({ length: MAILS }, (_, nth) => ({ raw: mailTo(email, nth) })))
  const waiting = async () => {
    const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from pending_invitation where account_id = ${accountId}
      `.execute(app.db)
    return rows[0]!.count
  }
  await waitUntil('the flood', async () => (await waiting()) > 10)
  await flooded.world.deliver({ raw: letter('After the flood') })
  await other.world.deliver([{ raw: letter('Beside the flood') }, { raw: mailTo(other.person.email, 0) }])
  await other.person.until('the invitation', events => events.length === 1)
  const has = (id: string, subject: string) =>
    waitUntil(`the message ${subject}`, async () =>
      (await readMessages(app, id)).some(message => message.subject === subject),
    )
  await has(other.person.accountId, 'Beside the flood')
  await has(accountId, 'After the flood')
  // All of that came while the flood was being read.
  expect(await waiting()).toBeGreaterThan(0)

  await waitUntil('the end of the flood', async () => (await waiting()) === 0, Math.max(120, MAILS))
  await untilQuiet(app)
  const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from calendar_event where account_id = ${accountId}
    `.execute(app.db)
  expect(rows[0]!.count).toBe(EVENTS)
  expect(Math.max(peak, memory()) - before).toBeLessThan(MEMORY_MB_MAX)
})
