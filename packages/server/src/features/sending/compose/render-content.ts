import { hasInlineContent, type RenderInput } from '@waxwing/contract/sending/send-body.ts'
import { htmlToTextSteps } from '../../../kit/mime/html-to-text.ts'
import type { InSlices } from '../../../kit/sliced-work.ts'
import { withoutPreview } from '../../../kit/templating/preview.ts'
import type { Rendered, TemplateField, TemplateFields } from '../../../kit/templating/template.ts'
import type { WorkBudget } from '../../../kit/work-thread.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { refuseFailure, renderEach, type Rendering, requireUsableTemplate } from '../templates/access.ts'
import { type Params, type Rcpt, toFields, variablesOf } from '../templates/rules.ts'

/* Content of sends, drafts and mail merges that is rendered from a template. */

/** A stored template, or the one that a request brings. */
export interface ContentTemplate {
  /** Null if it is not stored. */
  templateId: string | null
  fields: TemplateFields
  params: Params
}

export type RenderedContent = Pick<Rendered, 'subject' | 'html' | 'text'>

/** The reason why one of several was not rendered. */
export interface ContentFailure {
  failure: 'params_too_large' | 'template_render_failed'
  /** Null if the parameters are too large. */
  field: TemplateField | null
  message: string | null
}

interface ContentBody {
  template?: string | null | undefined
  render?: RenderInput | null | undefined
  subject?: string | null | undefined
  html?: string | null | undefined
  text?: string | null | undefined
}

/** The template of the content; null if the body has the content itself. */
export async function requireContentTemplate(
  context: RequestContext,
  services: Rendering,
  account: AccountView,
  body: ContentBody,
): Promise<ContentTemplate | null> {
  const { template: templateId, render } = body
  const params = render?.params ?? {}
  if (templateId == null) return render ? { templateId: null, fields: toFields(render), params } : null
  if (hasInlineContent(body)) refuse('template_and_inline_fields')
  const fields = toFields(await requireUsableTemplate(context, services, templateId, account.id))
  return { templateId, fields, params }
}

/** @param rcpt only on sends that name a suppression list */
export async function renderContent(
  context: RequestContext,
  { renderer, slicesOf }: Rendering,
  account: AccountView,
  { fields, params }: ContentTemplate,
  rcpt?: Rcpt,
): Promise<RenderedContent> {
  const variables = variablesOf({ params, account, rcpt }) ?? refuse('params_too_large')
  const [result] = await renderEach(renderer, context.tenantId, fields, [variables])
  return !result || 'failure' in result
    ? refuseFailure(result!)
    : toContent(result, slicesOf(context.tenantId))
}

/** The body of a draft with the content that its template renders, if it names one. */
export async function renderedBody<Body extends ContentBody>(
  context: RequestContext,
  services: Rendering,
  account: AccountView,
  body: Body,
): Promise<Body> {
  const template = await requireContentTemplate(context, services, account, body)
  return template ? { ...body, ...(await renderContent(context, services, account, template)) } : body
}

/**
 * Renders for several recipients, whose results come in order. Call it for as many as may be held in memory: each may
 * have 4 MiB. Several calls may share a budget of the threads' time. Refuses the whole only if the template does not compile, or too many renders are waiting.
 */
export async function renderContents(
  context: RequestContext,
  { renderer, slicesOf }: Rendering,
  account: AccountView,
  template: ContentTemplate,
  entries: ReadonlyArray<{ params?: Params | undefined; rcpt?: Rcpt | undefined }>,
  budget: WorkBudget,
): Promise<Array<RenderedContent | ContentFailure>> {
  const variables = entries.map(({ params = template.params, rcpt }) =>
    variablesOf({ params, account, rcpt }),
  )
  const fitting = variables.filter(json => json !== null)
  const results = (await renderEach(renderer, context.tenantId, template.fields, fitting, budget)).values()
  const contents: Array<RenderedContent | ContentFailure> = []
  for (const json of variables) {
    const result = json === null ? null : results.next().value!
    if (result === null) contents.push({ failure: 'params_too_large', field: null, message: null })
    else if (!('failure' in result)) contents.push(await toContent(result, slicesOf(context.tenantId)))
    else if (result.failure === 'invalid') refuseFailure(result)
    else contents.push({ ...result, failure: 'template_render_failed' })
  }
  return contents
}

/** The text that goes with HTML is made here if there is a preview, which is no part of the text. */
async function toContent(
  { subject, html, text, previewText }: Rendered,
  inSlices: InSlices,
): Promise<RenderedContent> {
  const isLacking = text === null && html !== null && previewText
  if (!isLacking) return { subject, html, text }
  return { subject, html, text: await inSlices(htmlToTextSteps(withoutPreview(html, previewText))) }
}
