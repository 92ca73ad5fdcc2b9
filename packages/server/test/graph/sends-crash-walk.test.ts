import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { expect, test } from 'vitest'
import { hurryTasks, waitForCopiesOrFailures } from '../sending/killable-sending.ts'
import { sendEvents } from '../sending/open-sending.ts'
import { useServer } from '../servers/shared-server.ts'
import { readMessages } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { fileOf } from './attached-file.ts'
import { openGraphClient } from './graph-client.ts'
import { type KillableAccount, type Moment, openKillableGraph } from './killable-graph.ts'
import { casesFor } from '../soak.ts'

const opened = useServer(() => openKillableGraph())
const RECIPIENT = 'ben.receives@office.test'
const CONNECTED_AT_ONCE = 8

interface Walked {
  moment: Moment
  /** By default it is sent. */
  ends?: 'failed'
  /** Files beside its MIME. */
  files?: ReadonlyArray<ReturnType<typeof fileOf>>
  /** Faults of Graph that lead to the moment. */
  faults?: ReadonlyArray<Record<string, unknown>>
}

const requestOf = (path: string, isCarriedOut: boolean, method = 'POST'): Moment => ({
  method,
  path,
  isCarriedOut,
})
const SEND_REFUSED = { does: 'error', status: 400, method: 'POST', path: '*/send', count: 1 }
const DRAFT_KEPT = { does: 'error', status: 503, path: '*/permanentDelete', count: 1 }

/** Attached by a request, since the whole is over 2 MiB. */
const ATTACHED = [fileOf('a.pdf', 2_100_000)]
/** Attached in a session. */
const IN_SESSION = [fileOf('b.pdf', 3_000_001)]

/** A message for each moment at which the service is killed. */
const ALL: Readonly<Record<string, Walked>> = {
  // Faults strike whatever comes first, so nothing else may be under way.
  look_up: {
    moment: 'look_up',
    faults: [{ does: 'lost', method: 'POST', path: '*/send', count: 1 }],
  },
  discard: { moment: 'discard', ends: 'failed', faults: [SEND_REFUSED, DRAFT_KEPT] },
  discarded: { moment: 'discarded', ends: 'failed', faults: [SEND_REFUSED, DRAFT_KEPT] },
  prepare_recorded: { moment: 'prepare_recorded' },
  'draft-held-back': { moment: requestOf('*/messages', false) },
  'draft-made': { moment: requestOf('*/messages', true) },
  'file-held-back': { moment: requestOf('*/attachments', false), files: ATTACHED },
  'file-attached': { moment: requestOf('*/attachments', true), files: ATTACHED },
  'session-opened': { moment: requestOf('*/createUploadSession', true), files: IN_SESSION },
  'range-put': { moment: requestOf('*AttachmentSessions*', true, 'PUT'), files: IN_SESSION },
  hand_over_commit: { moment: 'hand_over_commit' },
  hand_over_recorded: { moment: 'hand_over_recorded' },
  'send-held-back': { moment: requestOf('*/send', false) },
  'send-carried-out': { moment: requestOf('*/send', true) },
  'files-sent': { moment: requestOf('*/send', true), files: IN_SESSION },
  answered: { moment: 'answered' },
  outcome_recorded: { moment: 'outcome_recorded' },
  // The last, since its transaction is open until the kill.
  copy_link: { moment: 'copy_link' },
}

/** Of each state of a send the moment whose outcome is hardest to find. */
const IN_CI = new Set([
  'look_up',
  'discard',
  'file-attached',
  'hand_over_recorded',
  'send-carried-out',
  'files-sent',
  'copy_link',
])
const WALK = Object.fromEntries(casesFor(Object.entries(ALL), ([subject]) => IN_CI.has(subject)))

const listOf = async ({ client }: Pick<KillableAccount, 'client'>, folder: string): Promise<string[]> =>
  (await client.all(`mailFolders/${folder}/messages?$top=100&$select=subject`))
    .map(({ subject }) => subject)
    .toSorted()

test(
  'a message by Graph is sent once, with one copy and no draft, wherever it is when the service is killed',
  { timeout: 300_000 },
  async () => {
    const walk = opened()
    const { caller, sandbox, db } = walk
    await sandbox.control('PATCH', '/graph', { limits: 'off' })
    await sandbox.addUser(RECIPIENT, { messages: 0, provider: 'microsoft' })
    const recipient = { client: await openGraphClient(sandbox, RECIPIENT) }
    const subjects = Object.keys(WALK)
    const accounts = new Map<string, KillableAccount>()
    const connect = async (nth: number) =>
      accounts.set(subjects[nth]!, await walk.connect(`walk-${nth}@office.test`))
    // A key may have 16 requests in progress.
    for (let nth = 0; nth < subjects.length; nth += CONNECTED_AT_ONCE)
      await Promise.all([...subjects.keys()].slice(nth, nth + CONNECTED_AT_ONCE).map(connect))
    const post = (subject: string) =>
      caller().post<OutboxEntry>(`${accounts.get(subject)!.path}/outbox`, {
        to: [{ address: RECIPIENT }],
        subject,
        text: 'Hello.\n',
        attachments: WALK[subject]!.files ?? [],
      })
    for (const [subject, { moment, faults = [] }] of Object.entries(WALK)) {
      for (const fault of faults) await sandbox.addFault(fault)
      await walk.hold(
        moment,
        () => post(subject),
        () => hurryTasks(db),
      )
    }
    await walk.kill()
    await walk.restart()

    const entries = await Promise.all(
      subjects.map(async subject => {
        const path = `${accounts.get(subject)!.path}/outbox`
        const { body } = await caller().get<{ items: OutboxEntry[] }>(path)
        expect(body.items).toMatchObject([{ subject }])
        return body.items[0]!
      }),
    )
    const ended = await waitForCopiesOrFailures(walk, entries)
    const accepted = subjects.filter(subject => WALK[subject]!.ends !== 'failed')
    await waitUntil('all to arrive', async () => (await listOf(recipient, 'inbox')).length >= accepted.length)
    expect(await listOf(recipient, 'inbox')).toEqual(accepted.toSorted())
    for (const { id, messageId, subject, accountId } of ended) {
      const account = accounts.get(subject ?? '')!
      const sent = accepted.filter(one => one === subject)
      expect({ subject, sent: await listOf(account, 'sentitems') }).toEqual({ subject, sent })
      expect({ subject, drafts: await listOf(account, 'drafts') }).toEqual({ subject, drafts: [] })
      const indexed = (await readMessages(caller(), accountId)).map(one => [one.id, one.outboxId])
      expect({ subject, indexed }).toEqual({ subject, indexed: sent.map(() => [messageId, id]) })
    }
    const events = await sendEvents(caller())
    for (const { id, subject } of ended) {
      // A request that is held back for long is tried again before the kill.
      const announced = events.filter(({ type, data }) => data.outbox.id === id && type !== 'send.retrying')
      expect({ subject, announced: announced.map(({ type }) => type) }).toEqual({
        subject,
        announced: [`send.${WALK[subject ?? '']!.ends ?? 'sent'}`],
      })
    }
  },
)
