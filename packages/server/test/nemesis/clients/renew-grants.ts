import { setTimeout as sleep } from 'node:timers/promises'
import type { Bed } from '../bed.ts'
import { type ClientRun, keepDoing, type RunAccount, type RunClient } from './client-run.ts'

const PAUSE_MILLISECONDS = [4_000, 12_000] as const
const LOOK_AGAIN_MILLISECONDS = 500
/** A new grant is refused until a process has noticed that the old one has ended, and while the sign-in fails. */
const RENEWED_SECONDS_MAX = 160

/** Ends the grant of an account by a new password at Microsoft, and gives another one when the service asks for it. */
export const renewGrants: RunClient = run =>
  keepDoing(run, PAUSE_MILLISECONDS, () => renewOne(run, run.random.pick(run.accounts)))

async function renewOne({ api, bed }: ClientRun, { id, user }: RunAccount): Promise<void> {
  const { office } = bed
  const path = `/v1/accounts/${id}`
  const former = await findGrantId(bed, id)
  if (former === null) return
  await office.sandbox.changeUser(user.email, { passwordChanged: true })
  const refreshToken = await office.grant(user.email)
  const until = Date.now() + RENEWED_SECONDS_MAX * 1_000
  // The answer to a request that renewed it may have been lost.
  const isRenewed = async () => {
    const now = await findGrantId(bed, id)
    return now !== null && now !== former
  }
  while (!(await isRenewed()) && Date.now() < until) {
    const { body } = await api.send({ method: 'GET', path })
    if (body['status'] === 'reauth_required')
      await api.send({ method: 'POST', path: '/v1/accounts', body: { provider: 'microsoft', refreshToken } })
    // A process notices the end at its next call for the account.
    else await api.send({ method: 'POST', path: `${path}/sync`, body: {} })
    await sleep(LOOK_AGAIN_MILLISECONDS)
  }
}

/** The id of the stored grant of an account; null while the database cannot be asked. */
async function findGrantId({ database: { db } }: Bed, accountId: string): Promise<string | null> {
  const found = db.selectFrom('oauth_grant').select('id').where('account_id', '=', accountId)
  return (await found.executeTakeFirst().catch(() => null))?.id ?? null
}
