import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { seeded } from '../seeded.ts'
import { startCyrusDav } from '../servers/cyrus-dav.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startRadicale } from '../servers/radicale.ts'
import { startSabre } from '../servers/sabre.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { useServer } from '../servers/shared-server.ts'
import { startXandikos } from '../servers/xandikos.ts'
import { seedsFor } from '../sync/disturbance.ts'
import { readFeed } from '../sync/followed-account.ts'
import { type KillableService, openKillableService } from '../sync/killable-service.ts'
import { waitUntil } from '../wait-until.ts'
import { readContacts, waitForContacts } from './carddav-account.ts'
import { type ContactWorld, davWorld, googleWorld, graphWorld, sandboxEnv } from './contact-worlds.ts'
import { RandomEdits } from './random-edits.ts'
import { numberFor } from '../soak.ts'

const SECONDS = 1_000
const KILLS = numberFor({ ci: 2, soak: 3 })

let sandbox: SandboxServer
let service: KillableService
beforeAll(async () => {
  sandbox = await startSandbox()
  service = await openKillableService(sandboxEnv(sandbox))
}, 300 * SECONDS)
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await sandbox[Symbol.asyncDispose]()
})
const dovecot = useServer(startDovecot)

/** The providers of contacts, and how many seeds CI runs on each. `npm run soak` runs more on all. */
const WORLDS: ReadonlyArray<{ name: string; seeds: number; open(seed: number): Promise<ContactWorld> }> = [
  { name: 'Radicale', seeds: 0, open: () => davWorld(startRadicale, dovecot()) },
  { name: 'Xandikos', seeds: 1, open: () => davWorld(() => startXandikos({ isForOne: true }), dovecot()) },
  { name: 'Cyrus', seeds: 0, open: () => davWorld(startCyrusDav, dovecot()) },
  { name: 'sabre/dav', seeds: 0, open: () => davWorld(startSabre, dovecot()) },
  { name: 'Google', seeds: 0, open: seed => googleWorld(sandbox, seed) },
  { name: 'Graph', seeds: 0, open: seed => graphWorld(sandbox, seed, 'global') },
  { name: 'Graph in China', seeds: 0, open: seed => graphWorld(sandbox, seed, 'china') },
]

const lineOf = ({ displayName, jobTitle }: Pick<Contact, 'displayName' | 'jobTitle'>) =>
  `${displayName}, ${jobTitle}`

describe.each(WORLDS.filter(({ seeds }) => seedsFor(seeds).length > 0))(
  'after random changes of contacts by the interface and by another client on $name',
  ({ name, open, seeds }) => {
    test.each(seedsFor(seeds))(
      'and kills of the service, nothing is lost, undone or told twice (seed %i)',
      async seed => {
        const { caller } = service
        const random = seeded(`contacts on ${name} ${seed}`)
        await using world = await open(seed)
        const edits = new RandomEdits(world.other, random)
        onTestFailed(() => void process.stderr.write(`${[...edits.log, ...service.errors()].join('\n')}\n`))
        await edits.furnish(8)
        const accountId = await world.connect(caller)
        await waitForContacts(caller, accountId)
        const before = await readContacts(caller, accountId)
        const { cursor } = await readFeed(caller)

        await edits.disturb({ caller, accountId, kill: () => service.kill(), kills: KILLS })
        expect(edits.failures).toEqual([])

        let wanted: string[] = []
        let found: string[] = []
        await waitUntil('the index to equal the provider', async () => {
          await caller.post(`/v1/accounts/${accountId}/sync`, { kinds: ['contacts'] })
          wanted = (await world.other.list()).map(lineOf).toSorted()
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
