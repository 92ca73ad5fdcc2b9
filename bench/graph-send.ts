import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { uploadMessage } from './graph-upload-process.ts'
import { type Cpu, medianCpu, meterCpu } from './cpu.ts'
import { median, short } from './figures.ts'
import { connectGraph, GRAPH_HOST, grantGraph, graphSettings, startOffice } from './graph-accounts.ts'
import { wait } from './imapflow-process.ts'
import type { Benchmark } from './row.ts'
import { type BenchService, startBenchService } from './service.ts'

const EMAIL = 'send@office.test'
const BYTES = Number(process.env['WAXWING_BENCH_BYTES'] ?? 10_000_000)
const RUNS = 5
/** Time in which a message of this size is accepted. */
const DUE_SECONDS = 3
const LOOK_SECONDS = 0.01
const SENT_SECONDS_MAX = 120

export const graphSend: Benchmark = {
  name: 'graph-send',
  about: 'A message with a large attachment, from when it is due until Microsoft Graph has sent it.',
  async run(report) {
    await using sandbox = await startOffice(EMAIL, 0)
    await using service = await startBenchService({ env: graphSettings(sandbox.controlUrl) })
    const accountId = await connectGraph(service, sandbox, EMAIL)
    await service.untilInitialized(accountId)
    const { accessToken: token } = await grantGraph(sandbox, EMAIL)
    const ours: SendFigures[] = []
    const yardsticks: number[] = []
    for (let run = 0; run < RUNS; run++) {
      ours.push(await timeSend(service, accountId))
      const hosts = { graph: sandbox.origin(GRAPH_HOST), uploads: sandbox.origin('outlook.office.com') }
      yardsticks.push((await uploadMessage({ hosts, token, email: EMAIL, bytes: BYTES })).seconds)
    }
    const mbPerSecond = (seconds: number[]) => BYTES / 1_000_000 / median(seconds)
    const [sent, uploaded] = [mbPerSecond(ours.map(({ seconds }) => seconds)), mbPerSecond(yardsticks)]
    report({
      measure: `${short(BYTES / 1_000_000)} MB sent, MB per second`,
      result: short(sent),
      yardstick: `the upload alone ${short(uploaded)}`,
      ratio: sent / uploaded,
      target: '≥ 0.50',
      cpu: medianCpu(ours.map(({ cpu }) => cpu)),
    })
  },
}

interface SendFigures {
  seconds: number
  cpu: Cpu
}

/** Has a message accepted, and measures from the moment at which it is due. */
async function timeSend(service: BenchService, accountId: string): Promise<SendFigures> {
  const path = `/v1/accounts/${accountId}/outbox`
  const dueAt = Date.now() + DUE_SECONDS * 1_000
  const { status, body } = await service.post<OutboxEntry>(path, {
    to: [{ address: EMAIL }],
    subject: 'A message of a benchmark',
    text: 'With a file.',
    sendAt: new Date(dueAt).toISOString(),
    attachments: [
      {
        filename: 'file.bin',
        contentType: 'application/octet-stream',
        content: Buffer.alloc(BYTES, 'a').toString('base64'),
      },
    ],
  })
  if (status !== 200) throw new Error(JSON.stringify(body))
  const early = (dueAt - Date.now()) / 1_000
  if (early <= 0) throw new Error('The message was due before it was accepted')
  await wait(early)
  const used = meterCpu()
  for (;;) {
    const { body: entry } = await service.get<OutboxEntry>(`${path}/${body.id}`)
    const seconds = (Date.now() - dueAt) / 1_000
    if (entry.status === 'sent') return { seconds, cpu: used(1) }
    if (entry.status === 'failed' || seconds > SENT_SECONDS_MAX) throw new Error(JSON.stringify(entry))
    await wait(LOOK_SECONDS)
  }
}
