import { createSecretKey, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import { clientStates } from '../../src/connections/kinds/graph-push/client-state.ts'
import { planSubscription } from '../../src/connections/kinds/graph-push/plan.ts'
import { graphPushReceivers } from '../../src/connections/kinds/graph-push/receive.ts'
import { recordSubscription } from '../../src/accounts/grants/subscriptions.ts'
import type { Db } from '../../src/database/pool.ts'
import type { Tables } from '../../src/database/tables.ts'
import { newId } from '../../src/kit/ids.ts'
import { sampleAccount } from '../sample-rows.ts'

const IN_AN_HOUR = () => new Date(Date.now() + 3_600_000)

/** The service to whose address the notifications go. */
export const PUSH_BASE = { url: () => 'https://mail.example.com', isPlayed: false }

/** Receivers of Graph's pushes on a database, with a count of the statements that they send. */
export function openReceivers(db: Db, tenantId: string) {
  const states = clientStates(createSecretKey(randomBytes(32)))
  const statements = { count: 0 }
  const woken: string[] = []
  const warnings: unknown[] = []
  const outcomes: string[] = []
  const counting: Kysely<Tables> = db.withPlugin({
    transformQuery({ node }) {
      statements.count++
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const receivers = graphPushReceivers({
    db: counting,
    states,
    waker: { wake: id => void woken.push(id) },
    log: { warn: (...given: unknown[]) => void warnings.push(given) },
    countNotification: outcome => void outcomes.push(outcome),
  })
  return {
    receivers,
    states,
    statements,
    woken,
    warnings,
    /** How each notification was counted. */
    outcomes,
    /** An account with a grant and a subscription. */
    async subscribe(): Promise<{ accountId: string; nonce: string; clientState: string }> {
      const { id: accountId } = await sampleAccount(db, tenantId, {
        provider: 'graph',
        auth_method: 'oauth',
        imap: null,
      })
      const token = Buffer.from([0])
      await db
        .insertInto('oauth_grant')
        .values({
          account_id: accountId,
          id: newId(),
          provider: 'microsoft',
          client_id: 'client',
          scopes: [],
          access_token: token,
          refresh_token: token,
          issued_at: new Date(),
          expires_at: IN_AN_HOUR(),
          refresh_at: IN_AN_HOUR(),
        })
        .execute()
      const account = { id: accountId, delegate_account_id: null }
      const { nonce, clientState } = planSubscription({ db, states, base: PUSH_BASE }, account)!.newState()
      const times = { expiresAt: IN_AN_HOUR(), renewAt: IN_AN_HOUR() }
      await recordSubscription(db, 'mail', accountId, { id: `of ${accountId}`, nonce, ...times }, null)
      return { accountId, nonce, clientState }
    },
  }
}

/** Notifications as Graph sends them. */
export function collectionOf(states: readonly string[], more: object = {}): string {
  const value = states.map(clientState => ({
    subscriptionId: newId(),
    subscriptionExpirationDateTime: IN_AN_HOUR().toISOString(),
    clientState,
    changeType: 'created',
    resource: 'Users/1/Messages/2',
    resourceData: { '@odata.type': '#Microsoft.Graph.Message', id: '2' },
    tenantId: newId(),
    ...more,
  }))
  return JSON.stringify({ value })
}
