import { GRACE } from '../../sending/open-sending.ts'
import { type ClientRun, keepDoing, type RunClient } from './client-run.ts'

const PAUSE_MILLISECONDS = [500, 2_500] as const

/** Writes drafts, changes them, and sends or deletes them. */
export const writeDrafts: RunClient = run => {
  let number = 0
  return keepDoing(run, PAUSE_MILLISECONDS, () =>
    writeOne(run, `${run.name.replaceAll(' ', '-')}-${number++}`),
  )
}

async function writeOne({ api, accounts, random }: ClientRun, key: string): Promise<void> {
  const path = `/v1/accounts/${random.pick(accounts).id}/drafts`
  const content = (text: string) => ({ to: [GRACE], subject: key, text })
  const created = await api.insist({ method: 'POST', path, body: content('First.\n'), key })
  const id = created?.outcome === 'ok' ? created.body['id'] : null
  if (typeof id !== 'string') return
  const draft = `${path}/${id}`
  if (random.chance(0.5)) await api.insist({ method: 'PUT', path: draft, body: content('Second.\n') })
  const end = random.pick(['send', 'send', 'delete', 'keep'] as const)
  if (end === 'send') await api.insist({ method: 'POST', path: `${draft}/send`, key: `${key}-send` })
  if (end === 'delete') await api.insist({ method: 'DELETE', path: draft })
}
