import type { Random } from '../seeded.ts'
import type { Faults } from '../servers/chaos-faults.ts'
import type { MailServer, TestUser } from '../servers/mail-server.ts'
import { readTruth } from '../servers/reference.ts'
import type { World } from '../servers/world.ts'
import type { KillableService } from './killable-service.ts'
import { openOtherClient, type OtherClient, type OtherClientOptions } from './other-client.ts'

/** About how long it takes to store a batch. */
const STORING_MS = 12
/** A kill waits for at most this many lines until messages come. */
const STORING_LINES_MAX = 150

/** `WAXWING_SEEDS=40` runs 40 seeds on each server, `WAXWING_SEEDS=17-17` only seed 17. */
export function seedsFor(countByDefault: number): number[] {
  const [, from = '1', to] = /^(?:(\d+)-)?(\d+)$/.exec(process.env['WAXWING_SEEDS'] ?? '') ?? []
  const last = to === undefined ? countByDefault : Number(to)
  return Array.from({ length: last - Number(from) + 1 }, (_, index) => Number(from) + index)
}

/** The actions of other clients, taken at random commands of the service, and its kills. */
export interface Disturbance {
  acts: number
  /** How often the other client acts while a command waits. */
  chance?: number
  kills: number
  log: string[]
  failures: unknown[]
}

/**
 * Lets the other client act while the service's commands wait, and kills the service after some answer of the server.
 * If messages came, the kill is a few milliseconds later, when they are being stored.
 */
export function disturb(
  service: Pick<KillableService, 'kill'>,
  client: Pick<OtherClient, 'act'>,
  random: Random,
  disturbance: Disturbance,
): Faults {
  let acting: Promise<void> = Promise.resolve()
  let linesUntilKill = random.between(1, 150)
  return {
    hold() {
      if (disturbance.acts === 0 || !random.chance(disturbance.chance ?? 0.4)) return undefined
      disturbance.acts--
      acting = acting
        .then(async () => void disturbance.log.push(await client.act()))
        .catch((error: unknown) => void disturbance.failures.push(error))
      return acting
    },
    rewrite(line: string) {
      linesUntilKill--
      const isStoring = linesUntilKill <= 0 && line.includes('BODY[')
      if (disturbance.kills > 0 && (isStoring || linesUntilKill < -STORING_LINES_MAX)) {
        disturbance.kills--
        disturbance.log.push('kill')
        linesUntilKill = random.between(1, 150)
        setTimeout(() => service.kill(), random.between(0, STORING_MS))
      }
      return line
    },
  }
}

/** Creates mailboxes with messages, some of them nested. */
export async function furnish(
  server: MailServer,
  user: TestUser,
  world: World,
  random: Random,
  options: OtherClientOptions = {},
): Promise<OtherClient> {
  const client = openOtherClient(world, server, random, options)
  for (const { path } of await readTruth(server, user)) client.mailboxes.set(path, new Map())
  const parent = world.at('Made 100')
  for (const path of [parent, `${parent}/Made 101`, world.at('Made 102')]) await client.create(path)
  for (const path of client.mailboxes.keys()) await client.deliver(path, random.between(1, 15))
  return client
}
