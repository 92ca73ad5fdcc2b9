import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { type ClientRun, keepDoing, type RunAccount, type RunClient } from './client-run.ts'

const PAUSE_MILLISECONDS = [200, 1_200] as const

/** Names of contacts that the API makes begin with it. Only the API removes them. */
export const NAME_OF_API = 'Made'

/** Makes and changes contacts, and deletes those that it has made. */
export const changeContacts: RunClient = async run => {
  let number = 0
  await keepDoing(run, PAUSE_MILLISECONDS, () =>
    changeOne(run, run.random.pick(run.accounts), () => ++number),
  )
}

async function changeOne({ api, random }: ClientRun, { id }: RunAccount, next: () => number): Promise<void> {
  const path = `/v1/accounts/${id}/contacts`
  const kind = random.between(0, 99)
  if (kind < 30) {
    const key = `contact-${next()}`
    const body = { displayName: `${NAME_OF_API} ${key}`, nickname: `nick ${next()}` }
    await api.insist({ method: 'POST', path, body, key, contact: { accountId: id, name: body.displayName } })
    return
  }
  const { body, outcome } = await api.send({ method: 'GET', path: `${path}?limit=100` })
  const contacts = outcome === 'ok' ? (body['items'] as Contact[]) : []
  if (contacts.length === 0) return
  const contact = random.pick(contacts)
  const at = `${path}/${contact.id}`
  if (kind < 85) {
    const change = random.pick([
      { nickname: `nick ${next()}` },
      { notes: `note ${next()}` },
      { nickname: null },
    ])
    await api.insist({ method: 'PATCH', path: at, body: change })
    return
  }
  const name = contact.displayName ?? ''
  if (name.startsWith(NAME_OF_API))
    await api.insist({ method: 'DELETE', path: at, contact: { accountId: id, name } })
}
