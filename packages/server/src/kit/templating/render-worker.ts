import { parentPort, workerData } from 'node:worker_threads'
import { openTemplates, readVariables } from './compile.ts'
import { lockThread } from './lock-thread.ts'
import { compileFields, renderTemplate } from './render.ts'
import type { RendererAnswer, RendererRequest } from './renderer.ts'
import { type Rendered, type RenderFailure, TEMPLATE_FIELDS, type TemplateField } from './template.ts'

/* The thread of renderer.ts. */

/** After this time, or this much output, the thread answers what it has, so that others get their turn. */
const CHUNK_MS_MAX = 100
const CHUNK_LENGTH_MAX = 8 * 1024 * 1024

/** The variables and the field that are being rendered. The service reads them if this thread hangs. */
const progress = new Int32Array(workerData as SharedArrayBuffer)
const templates = openTemplates()

function begin(field: TemplateField): void {
  progress[1] = TEMPLATE_FIELDS.indexOf(field)
}

function answer(request: RendererRequest): RendererAnswer {
  progress.fill(0)
  if (request.type === 'start') return []
  const fields = compileFields(templates, request.fields, begin)
  const isInvalid = 'failure' in fields
  if (request.type === 'check') return [isInvalid ? fields : null]
  if (isInvalid) return request.variables.map(() => fields)
  const begunAt = performance.now()
  const results: Array<Rendered | RenderFailure> = []
  let length = 0
  for (const json of request.variables) {
    progress[0] = results.length
    const result = renderTemplate(fields, readVariables(json), begin)
    results.push(result)
    if (!('failure' in result)) length += (result.html?.length ?? 0) + (result.text?.length ?? 0)
    if (length > CHUNK_LENGTH_MAX || performance.now() - begunAt > CHUNK_MS_MAX) break
  }
  return results
}

parentPort?.on('message', (request: RendererRequest) => parentPort?.postMessage(answer(request), []))
lockThread()
