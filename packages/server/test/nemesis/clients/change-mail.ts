import { type ClientRun, keepDoing, type RunAccount, type RunClient } from './client-run.ts'

const PAUSE_MILLISECONDS = [150, 1_000] as const
const OWN_MAILBOXES_MAX = 4

/** State of an account that only this client changes. */
interface Held {
  account: RunAccount
  messages: Array<{ id: string; subject: string }>
  mailboxes: string[]
  made: number
}

/** Marks, moves and deletes messages, and creates, renames and deletes mailboxes. */
export const changeMail: RunClient = async run => {
  const held = run.accounts.map((account): Held => ({ account, messages: [], mailboxes: [], made: 0 }))
  await keepDoing(run, PAUSE_MILLISECONDS, () => act(run, run.random.pick(held)))
}

async function act(run: ClientRun, held: Held): Promise<void> {
  const { random } = run
  if (held.messages.length === 0) return look(run, held)
  const kind = random.between(0, 99)
  if (kind < 55) return mark(run, held)
  if (kind < 75) return move(run, held)
  if (kind < 80) return remove(run, held)
  return changeMailboxes(run, held)
}

async function look({ api }: ClientRun, held: Held): Promise<void> {
  const path = `/v1/accounts/${held.account.id}/messages?limit=100`
  const reply = await api.send({ method: 'GET', path })
  if (reply.outcome !== 'ok') return
  const items = reply.body['items'] as Array<{ id: string; subject: string | null }>
  held.messages = items.flatMap(({ id, subject }) => (subject === null ? [] : [{ id, subject }]))
}

async function mark({ api, random }: ClientRun, { account, messages }: Held): Promise<void> {
  const { id, subject } = random.pick(messages)
  const field = random.pick(['isRead', 'isFlagged'] as const)
  const value = random.chance(0.5)
  await api.insist({
    method: 'PATCH',
    path: `/v1/accounts/${account.id}/messages/${id}`,
    body: { [field]: value },
    mark: { accountId: account.id, subject, field, value },
  })
}

async function move({ api, random }: ClientRun, { account, messages, mailboxes }: Held): Promise<void> {
  if (mailboxes.length === 0) return
  const { id } = random.pick(messages)
  const path = `/v1/accounts/${account.id}/messages/${id}`
  await api.insist({ method: 'PATCH', path, body: { mailboxId: random.pick(mailboxes) } })
}

async function remove({ api, random }: ClientRun, held: Held): Promise<void> {
  const message = random.pick(held.messages)
  const path = `/v1/accounts/${held.account.id}/messages/${message.id}`
  held.messages = held.messages.filter(one => one !== message)
  await api.insist({ method: 'DELETE', path: random.chance(0.5) ? path : `${path}?permanent=true` })
}

async function changeMailboxes({ api, random }: ClientRun, held: Held): Promise<void> {
  const path = `/v1/accounts/${held.account.id}/mailboxes`
  if (held.mailboxes.length < OWN_MAILBOXES_MAX) {
    const name = `Mine ${held.made++}`
    const key = `mailbox ${held.account.id} ${name}`.replaceAll(' ', '-')
    const reply = await api.insist({ method: 'POST', path, body: { name }, key })
    const id = reply?.outcome === 'ok' ? reply.body['id'] : null
    if (typeof id === 'string') held.mailboxes.push(id)
    return
  }
  const id = random.pick(held.mailboxes)
  if (random.chance(0.7)) {
    const name = `Renamed ${held.made++}`
    await api.insist({ method: 'PATCH', path: `${path}/${id}`, body: { name } })
    return
  }
  held.mailboxes = held.mailboxes.filter(one => one !== id)
  // The messages in it go with it.
  held.messages = []
  await api.insist({ method: 'DELETE', path: `${path}/${id}` })
}
