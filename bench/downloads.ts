import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { openWorld } from '../packages/server/test/servers/world.ts'
import { short } from './figures.ts'
import { openGet, openSlowGet } from './http.ts'
import { compareLoad, load } from './load.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark } from './row.ts'
import { type BenchService, startBenchService } from './service.ts'

const MESSAGES = 2_000
const ATTACHMENT_MB = 20
const MB = 1024 * 1024
const SECONDS = 5

interface Summary {
  id: string
  subject: string | null
  hasAttachments: boolean
}

export const downloads: Benchmark = {
  name: 'downloads',
  about: 'A message with its body, a message as RFC 5322 and an attachment, both stored and from the server.',
  async run(report) {
    await using server = await startDovecot()
    const user = await makeFullMailbox(server, MESSAGES)
    await using world = await openWorld(server, user)
    await world.deliver({ raw: largeMessage() })
    await using service = await startBenchService()
    for (const bodyStorage of ['cache', 'none'] as const) {
      const accountId = await service.connect(server, user, { bodyStorage })
      await service.untilInitialized(accountId)
      const path = `/v1/accounts/${accountId}/messages`
      const { body } = await service.get<{ items: Summary[] }>(`${path}?limit=200`)
      const large = body.items.find(({ subject }) => subject === SUBJECT)
      if (!large) throw new Error('The large message is not indexed')
      const usual = body.items.filter(({ id }) => id !== large.id).slice(0, 50)
      // With body storage, reading a message stores it.
      for (const { id } of [...usual, large]) await service.get(`${path}/${id}`)
      const from = bodyStorage === 'cache' ? 'stored' : 'from the server'

      const gets = usual.map(({ id }) => openGet(service, `${path}/${id}`))
      let turn = 0
      const one = () => gets[turn++ % gets.length]?.() ?? Promise.resolve()
      for (const callers of [1, 16]) {
        const { one: figures } = await compareLoad(callers, { one })
        report({
          measure: `a message with body, ${from}, ${callers} caller${callers === 1 ? '' : 's'}`,
          result: `${short(figures.p50Ms)} ms, ${short(figures.perSecond)} a second`,
          yardstick: '',
          ratio: null,
          target: '',
          cpu: figures.cpu,
        })
      }
      for (const [what, part] of [
        ['raw', 'raw'],
        ['attachment', 'attachments/2'],
      ] as const) {
        const download = openGet(service, `${path}/${large.id}/${part}`)
        const bytes = await download()
        const { perSecond, cpu } = await load(1, SECONDS, download)
        report({
          measure: `${what} of ${ATTACHMENT_MB} MB, ${from}`,
          result: `${short((perSecond * bytes) / MB)} MB/s`,
          yardstick: '',
          ratio: null,
          target: '',
          cpu,
        })
      }
      if (bodyStorage === 'none') await besideDownload(service, path, large.id, report)
      await service.delete(`/v1/accounts/${accountId}`)
    }
  },
}

/** Measures a page of the list while a slow caller of the same account downloads the large message from the server. */
async function besideDownload(
  service: BenchService,
  path: string,
  largeId: string,
  report: Parameters<Benchmark['run']>[0],
): Promise<void> {
  const list = openGet(service, `${path}?limit=50`)
  await load(1, SECONDS, list)
  const alone = await load(1, SECONDS, list)
  await using _slow = await openSlowGet(service, `${path}/${largeId}/raw`, 2 * MB)
  const beside = await load(1, SECONDS, list)
  report({
    measure: 'list page beside a slow download of the same account, p50 in ms',
    result: short(beside.p50Ms),
    yardstick: `without ${short(alone.p50Ms)}`,
    ratio: beside.p50Ms / alone.p50Ms,
    target: '',
    cpu: beside.cpu,
  })
}

const SUBJECT = 'Large attachment'

function largeMessage() {
  const line = Buffer.alloc(57, 'x').toString('base64')
  const lines = Math.floor((ATTACHMENT_MB * MB) / 57)
  return [
    `Subject: ${SUBJECT}`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=edge',
    '',
    '--edge',
    'Content-Type: text/plain',
    '',
    'See the file.',
    '--edge',
    'Content-Type: application/pdf; name=file.pdf',
    'Content-Transfer-Encoding: base64',
    '',
    ...Array.from({ length: lines }, () => line),
    '--edge--',
    '',
  ].join('\r\n')
}
