import { setTimeout as sleep } from 'node:timers/promises'
import { GRACE } from '../../sending/open-sending.ts'
import type { Leaver } from '../leavers.ts'
import type { ClientRun } from './client-run.ts'

const PAUSE_MILLISECONDS = [2_000, 9_000] as const
const SENDS = 3
/** A send is due long after the account was deleted, also by a clock that is hours ahead. */
const LATER_MILLISECONDS = 86_400_000

/** Deletes one account after the other, each with sends and a draft that wait. */
export async function deleteAccounts(run: ClientRun, leavers: readonly Leaver[]): Promise<void> {
  for (const leaver of leavers) {
    await sleep(run.random.between(...PAUSE_MILLISECONDS), null, { signal: run.signal }).catch(() => {})
    await deleteOne(run, leaver)
  }
}

async function deleteOne({ api, history }: ClientRun, { id, word }: Leaver): Promise<void> {
  const path = `/v1/accounts/${id}`
  const content = { to: [GRACE], subject: word, text: word }
  const sendAt = new Date(Date.now() + LATER_MILLISECONDS).toISOString()
  for (let number = 0; number < SENDS; number++) {
    const key = `leaving-${id}-${number}`
    await api.insist({ method: 'POST', path: `${path}/outbox`, body: { ...content, sendAt }, key })
  }
  await api.insist({ method: 'POST', path: `${path}/drafts`, body: content, key: `leaving-${id}-draft` })
  const from = Date.now()
  const reply = await api.insist({ method: 'DELETE', path: `${path}?purge=true` })
  if (reply?.outcome === 'ok') history.add({ type: 'deletion', from, at: Date.now(), accountId: id })
}
