import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { seeded } from '../seeded.ts'
import { startChaosProxy } from '../servers/chaos-proxy.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { type Disturbance, disturb, furnish, seedsFor } from './disturbance.ts'
import { connectMailbox } from './followed-account.ts'
import { type KillableService, openKillableService } from './killable-service.ts'
import { comeToRest, expectFeedToTell, renamedContents } from './rest.ts'
import { casesFor, numberFor } from '../soak.ts'

const SECONDS = 1_000
const SECOND = { acts: numberFor({ ci: 30, soak: 60 }), kills: numberFor({ ci: 2, soak: 3 }) }
let service: KillableService
beforeAll(async () => {
  service = await openKillableService()
}, 300 * SECONDS)
afterAll(() => service[Symbol.asyncDispose]())

const SERVERS = casesFor(SERVER_KINDS, ({ name }) => name === 'Cyrus')

describe.each(SERVERS)('after random changes by others on $name', ({ name, start }) => {
  const useIt = useServer(start)

  test.each(seedsFor(1))(
    'and kills of the service, the index equals the server, and the feed reports every step (seed %i)',
    async seed => {
      const server = useIt()
      const user = await server.addUser()
      const random = seeded(`${name} ${seed}`)
      await using world = await openWorld(server, user)
      const client = await furnish(server, user, world, random)
      await using proxy = await startChaosProxy(server)
      const accountId = await connectMailbox(service.caller, proxy, user)
      const account = { server, user, accountId }
      const log: string[] = []
      onTestFailed(() => void process.stderr.write(`${log.join('\n')}\n`))

      const first: Disturbance = { acts: numberFor({ ci: 10, soak: 20 }), kills: 1, log, failures: [] }
      proxy.faults = disturb(service, client, random.fork('first'), first)
      const before = await comeToRest(service.caller, account, first)
      // Nothing is promised before the first sync is complete: a message that moves meanwhile may be read twice.
      const movedEarly = new Set(client.moved)
      const second: Disturbance = { ...SECOND, log, failures: [] }
      proxy.faults = disturb(service, client, random.fork('second'), second)
      const after = await comeToRest(service.caller, account, second)

      expect([...first.failures, ...second.failures]).toEqual([])
      expectFeedToTell(before, after)
      const unstable = new Set([...client.copied, ...movedEarly])
      expect(renamedContents(unstable, [before.state, after.state], after.events)).toEqual([])
      await service.caller.delete(`/v1/accounts/${accountId}`)
    },
  )
})
