import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { seeded } from '../seeded.ts'
import { startCyrusDav } from '../servers/cyrus-dav.ts'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startRadicale } from '../servers/radicale.ts'
import { startSabre } from '../servers/sabre.ts'
import { useServer } from '../servers/shared-server.ts'
import { seedsFor } from '../sync/disturbance.ts'
import { readFeed } from '../sync/followed-account.ts'
import { type KillableService, openKillableService } from '../sync/killable-service.ts'
import { waitUntil } from '../wait-until.ts'
import { readTakingPlace, waitForCalendars } from './caldav-account.ts'
import { expectLastingIds, OtherCalendars } from './other-calendars.ts'

const SECONDS = 1_000
const ACTS = 40
const KILLS = 2

let service: KillableService
beforeAll(async () => {
  service = await openKillableService()
}, 300 * SECONDS)
afterAll(() => service[Symbol.asyncDispose]())
const dovecot = useServer(startDovecot)

/**
 * The servers, and how many seeds CI runs on each. `npm run soak` runs more on all. A server that moves a file by copying and
 * deleting it has two events for a moment, and a look at that moment finds both.
 */
const SERVERS = [
  { name: 'Radicale', seeds: 1, start: startRadicale, movesAtOnce: true },
  { name: 'Cyrus', seeds: 0, start: startCyrusDav, movesAtOnce: true },
  { name: 'sabre/dav', seeds: 0, start: startSabre, movesAtOnce: false },
]

const lineOf = ({ start, subject }: CalendarEvent) =>
  `${start.dateTime?.slice(0, 19).replaceAll(/[-:]/g, '')}Z ${subject}`

describe.each(SERVERS.filter(({ seeds }) => seedsFor(seeds).length > 0))(
  'after random changes of calendars by another client of $name',
  ({ name, seeds, start, movesAtOnce }) => {
    const server = useServer(start)

    test.each(seedsFor(seeds))(
      'and kills of the service, nothing is lost or announced twice, and ids last (seed %i)',
      async seed => {
        const { caller } = service
        const random = seeded(`calendars on ${name} ${seed}`)
        const davUser = await server().addUser()
        const client = davTestClient(server(), davUser)
        const calendars = [await client.makeCalendar('one'), await client.makeCalendar('two')]
        const other = new OtherCalendars(client, calendars, random.fork('other'))
        onTestFailed(() => void process.stderr.write(`${[...other.log, ...service.errors()].join('\n')}\n`))
        const dav = { dav: server(), davUser, half: 'calendarUrl' } as const
        const connection = connectionWithDav(dovecot(), await dovecot().addUser(), dav)
        const { status, body } = await caller.post<Account>('/v1/imap-accounts', connection)
        expect({ status, body }).toMatchObject({ status: 200 })
        const { id } = body
        await waitForCalendars(caller, id)

        const killAt = new Set(Array.from({ length: KILLS }, () => random.between(1, ACTS - 1)))
        for (let act = 0; act < ACTS; act++) {
          await other.act()
          if (random.chance(0.4)) await caller.post(`/v1/accounts/${id}/sync`, { kinds: ['calendar'] })
          if (killAt.has(act)) service.kill()
        }

        let found: string[] = []
        await waitUntil('the index to equal the calendars', async () => {
          await caller.post(`/v1/accounts/${id}/sync`, { kinds: ['calendar'] })
          found = (await readTakingPlace(caller, id)).map(lineOf).toSorted()
          return found.join('\n') === other.lines().join('\n')
        }).catch(() => {})
        expect(found).toEqual(other.lines())
        const { events } = await readFeed(caller)
        const feed = events.filter(({ accountId }) => accountId === id)
        expectLastingIds(
          feed.map(({ type, data }) => ({ type, ...data })),
          movesAtOnce,
        )
        await caller.delete(`/v1/accounts/${id}`)
      },
    )
  },
)
