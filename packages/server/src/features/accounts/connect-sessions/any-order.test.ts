import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { ConnectSession } from '@waxwing/contract/accounts/connect-sessions.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { ADA, BEN, NEW, useFlows } from '../../../../test/connect/use-flows.ts'
import { type Begun, CALLER } from '../../../../test/connect-flows.ts'
import { eventsOf } from '../../../../test/imap-accounts.ts'
import { type Random, seeded } from '../../../../test/seeded.ts'
import { seedsFor } from '../../../../test/sync/disturbance.ts'
import { newId } from '../../../kit/ids.ts'
import type { FlowEnd } from './flow-parts.ts'

const SEEDS = seedsFor(4)
const at = useFlows()

/** A sign-in that has come as far as the provider's answer. */
interface Answered extends Begun {
  redirectUrl: string
}

async function openSession() {
  const { tenant, world: flows } = await at.newTenant()
  return { tenant, flows, link: await flows.createLink(NEW) }
}

type Session = Awaited<ReturnType<typeof openSession>>

/** One act of browsers, which come in any order and number. */
async function act({ flows, link }: Session, answered: Answered[], random: Random): Promise<FlowEnd | null> {
  const roll = random.next()
  const [one, other] = [random.pick([...answered, null]), random.pick([...answered, null])]
  if (roll < 0.3 || !one || !other) {
    const given = { provider: 'google', nonce: newId(), loginHint: null, caller: CALLER }
    const begun = await flows.flows.begin(link.token, given)
    if (begun.outcome !== 'begun') return null
    const { authorizeUrl } = begun
    const { redirectUrl } = await at.sandbox.authorize(authorizeUrl, random.pick([ADA, BEN]), {
      deny: random.chance(0.05),
    })
    answered.push({ authorizeUrl, cookie: begun.cookie.value, redirectUrl })
    return null
  }
  if (roll < 0.35) return flows.flows.cancel(link.token, CALLER)
  if (roll < 0.5) return flows.comeBack(other, one.redirectUrl)
  return flows.comeBack(one, one.redirectUrl)
}

test.each(SEEDS)(
  'callbacks in any order, repeated and at the same time, connect one account at most (seed %i)',
  async seed => {
    const random = seeded(seed)
    const session = await openSession()
    const { tenant, link } = session
    const answered: Answered[] = []
    const read = async () => (await tenant.get<ConnectSession>(`/v1/connect-sessions/${link.id}`)).body
    let ended: ConnectSession | null = null
    let successes = 0
    for (let round = 0; round < 8; round += 1) {
      const together = Array.from({ length: random.between(1, 20) }, (_, browser) =>
        act(session, answered, random.fork(`${round}/${browser}`)),
      )
      for (const end of await Promise.all(together)) {
        if (end?.outcome === 'returned' && end.url.includes('status=success')) successes += 1
      }
      const now = await read()
      if (ended) expect(now).toEqual(ended)
      if (now.status !== 'pending') ended = now
    }
    const completed = ended?.status === 'completed' ? 1 : 0
    expect(successes).toBe(completed)
    const { body } = await tenant.get<{ items: Account[] }>('/v1/accounts')
    expect(body.items.map(({ id, email }) => [id, email])).toEqual(
      completed ? [[ended?.accountId, ended?.email]] : [],
    )
    expect((await eventsOf(tenant)).filter(({ type }) => type === 'account.connected')).toHaveLength(
      completed,
    )
    const { rows } = await sql`
      select from audit_open where action = 'connect_session.complete' and tenant_id = ${tenant.tenantId}
    `.execute(at.app.db)
    expect(rows).toHaveLength(ended ? 1 : 0)
  },
)
