import { GRACE } from '../../sending/open-sending.ts'
import { type ClientRun, keepDoing, type RunClient } from './client-run.ts'

const PAUSE_MILLISECONDS = [150, 1_200] as const
const CANCELLED_SHARE = 0.1

/** Sends messages, each under an Idempotency-Key that is also its subject, and cancels some while they can be. */
export const sendMail: RunClient = run => {
  let number = 0
  return keepDoing(run, PAUSE_MILLISECONDS, () =>
    sendOne(run, `${run.name.replaceAll(' ', '-')}-${number++}`),
  )
}

async function sendOne({ api, accounts, random }: ClientRun, key: string): Promise<void> {
  const account = random.pick(accounts)
  const path = `/v1/accounts/${account.id}/outbox`
  const isCancelled = random.chance(CANCELLED_SHARE)
  const body = {
    to: [GRACE],
    subject: key,
    text: 'Hello.\n',
    ...(isCancelled ? { undoSendSeconds: 5 } : {}),
  }
  const reply = await api.insist({ method: 'POST', path, body, key })
  const { id } = reply?.body ?? {}
  if (isCancelled && reply?.outcome === 'ok' && typeof id === 'string')
    await api.insist({ method: 'DELETE', path: `${path}/${id}` })
}
