import { isUuid } from '../../../kit/ids.ts'
import {
  type Rendered,
  type RenderFailure,
  TEMPLATE_FIELDS,
  type TemplateFields,
} from '../../../kit/templating/template.ts'
import { type Renderer, RendererBusy } from '../../../kit/templating/renderer.ts'
import type { InSlices } from '../../../kit/sliced-work.ts'
import type { WorkBudget } from '../../../kit/work-thread.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { findTemplate, type TemplateReads, type TemplateRow } from './store.ts'

const RETRY_SECONDS = 2

/** The template of the path. */
export async function requireTemplate(
  context: Pick<RequestContext, 'tenantId'>,
  db: RequestContext['db'],
  templateId: string,
  options?: { lock: boolean },
): Promise<TemplateRow> {
  const id = templateId.toLowerCase()
  const row = isUuid(id) ? await findTemplate(db, context.tenantId, id, options) : null
  return row ?? refuse('template_not_found')
}

/** Everything that rendering a template takes. */
export interface Rendering {
  renderer: Renderer
  templates: TemplateReads
  /** Reads HTML on the event loop, a slice at a time. */
  slicesOf(tenantId: string): InSlices
}

/** The template that a body names, for an account if there is one. A shared template is for every account. */
export async function requireUsableTemplate(
  { tenantId, credential }: Pick<RequestContext, 'tenantId' | 'credential'>,
  { templates }: Pick<Rendering, 'templates'>,
  id: string,
  accountId: string | null,
): Promise<TemplateRow> {
  const row = (await templates.ask({ tenantId, id: id.toLowerCase() })) ?? refuse('unknown_template')
  if (row.accountId === null || accountId === null || row.accountId === accountId) return row
  // A credential of some accounts gets no facts about templates of others.
  const isSeen = credential.accountIds === null || credential.accountIds.includes(row.accountId)
  return refuse(isSeen ? 'template_account_mismatch' : 'unknown_template')
}

/** Refuses fields that do not compile. */
export async function requireCompiling(
  renderer: Renderer,
  tenantId: string,
  fields: TemplateFields,
): Promise<void> {
  if (TEMPLATE_FIELDS.every(field => !fields[field]?.includes('{{'))) return
  const failure = await unlessBusy(renderer.check(tenantId, fields))
  if (failure) refuseFailure(failure)
}

/** Renders once for each of the variables, which are JSON. A failure is in the place of its result. */
export async function renderEach(
  renderer: Renderer,
  tenantId: string,
  fields: TemplateFields,
  variables: readonly string[],
  budget?: WorkBudget,
): Promise<Array<Rendered | RenderFailure>> {
  return unlessBusy(renderer.render(tenantId, fields, variables, budget))
}

export function refuseFailure({ failure, field, message }: RenderFailure): never {
  if (failure === 'invalid')
    refuse('invalid_template', { field }, { message: `The template does not compile: ${field}: ${message}` })
  return refuse(
    'template_render_failed',
    { field },
    { message: `The template was not rendered: ${field} ${message}.` },
  )
}

async function unlessBusy<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof RendererBusy)) throw error
    return refuse('overloaded', undefined, { retryAfterSeconds: RETRY_SECONDS, cause: error })
  }
}
