import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { seeded } from '../seeded.ts'
import { startCyrusDav } from '../servers/cyrus-dav.ts'
import { davTestClient } from '../servers/dav-client.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startRadicale } from '../servers/radicale.ts'
import { startSabre } from '../servers/sabre.ts'
import { useServer } from '../servers/shared-server.ts'
import { startXandikos } from '../servers/xandikos.ts'
import { seedsFor } from '../sync/disturbance.ts'
import { readFeed } from '../sync/followed-account.ts'
import { type KillableService, openKillableService } from '../sync/killable-service.ts'
import { waitUntil } from '../wait-until.ts'
import { connectionWithDav, readContacts, waitForContacts } from './carddav-account.ts'
import { davContacts } from './other-contacts.ts'
import { RandomEdits } from './random-edits.ts'

const SECONDS = 1_000
const KILLS = 3

/** The servers of CardDAV, and how many seeds CI runs on each. `npm run soak` runs more on all. */
const SERVERS = [
  { name: 'Radicale', start: startRadicale, seeds: 1 },
  { name: 'Xandikos', start: () => startXandikos({ isForOne: true }), seeds: 1 },
  { name: 'Cyrus', start: startCyrusDav, seeds: 0 },
  { name: 'sabre/dav', start: startSabre, seeds: 0 },
] as const

let service: KillableService
beforeAll(async () => {
  service = await openKillableService()
}, 300 * SECONDS)
afterAll(() => service[Symbol.asyncDispose]())
const dovecot = useServer(startDovecot)

const lineOf = ({ displayName, jobTitle }: Pick<Contact, 'displayName' | 'jobTitle'>) =>
  `${displayName}, ${jobTitle}`

describe.each(SERVERS.filter(({ seeds }) => seedsFor(seeds).length > 0))(
  'after random changes of contacts by the interface and by another client on $name',
  ({ name, start, seeds }) => {
    test.each(seedsFor(seeds))(
      'and kills of the service, nothing is lost, undone or told twice (seed %i)',
      async seed => {
        const { caller } = service
        const random = seeded(`contacts on ${name} ${seed}`)
        await using server = await start()
        const davUser = await server.addUser()
        const client = davTestClient(server, davUser)
        const other = await davContacts(client, davUser.homePath, await client.makeBook('people', 'People'))
        const edits = new RandomEdits(other, random)
        onTestFailed(() => void process.stderr.write(`${[...edits.log, ...service.errors()].join('\n')}\n`))
        await edits.furnish(8)
        const connection = connectionWithDav(dovecot(), await dovecot().addUser(), { dav: server, davUser })
        const { status, body } = await caller.post<Account>('/v1/imap-accounts', connection)
        expect({ status, body }).toMatchObject({ status: 200 })
        const accountId = body.id
        await waitForContacts(caller, accountId)
        const before = await readContacts(caller, accountId)
        const { cursor } = await readFeed(caller)

        await edits.disturb({ caller, accountId, kill: () => service.kill(), kills: KILLS })
        expect(edits.failures).toEqual([])

        let wanted: string[] = []
        let found: string[] = []
        await waitUntil('the index to equal the server', async () => {
          await caller.post(`/v1/accounts/${accountId}/sync`, { kinds: ['contacts'] })
          wanted = (await other.list()).map(lineOf).toSorted()
          found = (await readContacts(caller, accountId)).map(lineOf).toSorted()
          return wanted.join('\n') === found.join('\n')
        }).catch(() => {})
        expect(found).toEqual(wanted)
        edits.expectKept(found)

        const after = await readContacts(caller, accountId)
        const { events } = await readFeed(caller, cursor)
        edits.expectTold(before, events, after, accountId)
        await caller.delete(`/v1/accounts/${accountId}`)
      },
    )
  },
)
