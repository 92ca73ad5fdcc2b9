import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { short } from './figures.ts'
import { openPost } from './http.ts'
import { PARAMS, TEMPLATE } from './render-template.ts'
import { compareLoad } from './load.ts'
import type { Benchmark } from './row.ts'
import { startBenchService } from './service.ts'

export const renders: Benchmark = {
  name: 'renders',
  about: 'A stored template of 5 KB rendered over HTTP, compared with node:http and Handlebars in a thread.',
  async run(report) {
    await using service = await startBenchService()
    await using yardstick = await startYardstick()
    using ours = openPost(service)
    using theirs = openPost({ address: yardstick.address, key: '' })
    const stored = await ours.post<{ id: string }>('/v1/templates', { name: 'order', ...TEMPLATE })
    const body = { templateId: stored.id, params: PARAMS }
    const calls = {
      waxwing: () => ours.post('/v1/template-renders', body),
      handlebars: () => theirs.post('/', body),
    }
    for (const callers of [1, 16]) {
      const figures = await compareLoad(callers, calls)
      const [mine, other] = [figures.waxwing.perSecond, figures.handlebars.perSecond]
      report({
        measure: `${callers} caller${callers === 1 ? '' : 's'}, renders per second`,
        result: short(mine),
        yardstick: `node:http and Handlebars ${short(other)}`,
        ratio: mine / other,
        target: callers === 1 ? '' : '≥ 0.30 (0.5)',
        cpu: figures.waxwing.cpu,
      })
    }
  },
}

async function startYardstick() {
  const child = fork(fileURLToPath(new URL('handlebars-process.ts', import.meta.url)))
  const [port] = (await once(child, 'message')) as [number]
  return {
    address: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill()
      await ended
    },
  }
}
