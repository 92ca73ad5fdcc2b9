import { z } from 'zod'
import { operation } from '../operation.ts'
import { cursor, pageLimit, pageOf, pathId, queryText, text, timestamp, uuid, uuidInput } from '../shapes.ts'

const TEMPLATE_BODY_BYTES_MAX = 16 * 1024 * 1024
/** Values of a body whose `params` are 256 KB of the shortest ones. */
export const RENDER_BODY_VALUES_MAX = 140_000
const NAME_LENGTH_MAX = 255
const LINE_LENGTH_MAX = 2000
const CONTENT_LENGTH_MAX = 1_000_000

export const templateFormat = z
  .enum(['html', 'markdown'])
  .describe('With `markdown`, `html` holds Markdown of GitHub’s flavour, without HTML in it.')
const templateSource = z
  .enum(['handlebars', 'react-email'])
  .describe('`react-email`: rendered in code and uploaded under its name.')

/** Fields from which a template, or a send without one, is rendered. */
export const templateFieldInputs = {
  subject: text({ max: LINE_LENGTH_MAX }).nullish(),
  html: text({ max: CONTENT_LENGTH_MAX }).nullish(),
  text: text({ max: CONTENT_LENGTH_MAX })
    .nullish()
    .describe('Default: with the format `markdown` the Markdown, else the text of `html`.'),
  previewText: text({ max: LINE_LENGTH_MAX })
    .nullish()
    .describe('Text that mail programs show beside the subject. It is put at the top of the HTML, hidden.'),
}

export const templateParams = z
  .record(z.string(), z.unknown())
  .describe('The values of `{{params.…}}`, at most 256 KB as JSON.')

const storedFields = {
  subject: z.string().nullable(),
  html: z.string().nullable(),
  text: z.string().nullable(),
  previewText: z.string().nullable(),
}

export const templateSummary = z
  .object({
    id: uuid,
    accountId: uuid.nullable().describe('The account that may use it; null: every account of the tenant.'),
    name: z.string().describe('Unique among the templates of its account, or among the shared ones.'),
    description: z.string().nullable(),
    source: templateSource,
    externalRef: z.string().nullable().describe('Your own identifier for the template.'),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'TemplateSummary' })
export type TemplateSummary = z.infer<typeof templateSummary>

export const template = templateSummary
  .extend({ ...storedFields, format: templateFormat })
  .meta({ id: 'Template' })
export type Template = z.infer<typeof template>

export const renderedTemplate = z
  .object({
    ...storedFields,
    html: z.string().nullable().describe('As it is sent: from Markdown, with the preview at its top.'),
  })
  .meta({ id: 'RenderedTemplate' })
export type RenderedTemplate = z.infer<typeof renderedTemplate>

const templatePath = z.strictObject({ templateId: pathId.describe('The template’s `id`.') })

const changeableFields = {
  name: text({ min: 1, max: NAME_LENGTH_MAX }),
  description: text({ max: 1000 }).nullish(),
  ...templateFieldInputs,
  format: templateFormat.optional(),
  source: templateSource.optional(),
  externalRef: text({ max: 255 }).nullish(),
}

export const templates = {
  list: operation({
    method: 'GET',
    path: '/v1/templates',
    scope: 'read',
    summary: 'List templates, newest first.',
    description: 'Returns them without their content. Filters are combined with AND.',
    refuses: ['invalid_cursor'],
    query: z.strictObject({
      accountId: uuidInput.optional().describe('Only templates of this account.'),
      usableBy: uuidInput.optional().describe('Only templates of this account, and shared ones.'),
      name: queryText(0, NAME_LENGTH_MAX).optional().describe('Only templates with exactly this name.'),
      query: queryText(0, NAME_LENGTH_MAX)
        .optional()
        .describe('Only templates whose name contains this, in upper or lower case.'),
      limit: pageLimit(200, 50),
      cursor: cursor.optional(),
    }),
    output: pageOf(templateSummary),
  }),

  create: operation({
    method: 'POST',
    path: '/v1/templates',
    scope: 'write',
    audit: 'template.create',
    makes: 'templateId',
    bodyBytesMax: TEMPLATE_BODY_BYTES_MAX,
    summary: 'Create a template.',
    description:
      'Every field must compile as Handlebars. The helpers are `if`, `unless`, `each`, `with` and `lookup`; there are ' +
      'no partials and no decorators.',
    refuses: ['invalid_template', 'template_name_taken', 'unknown_account'],
    body: z.strictObject({
      accountId: uuidInput.nullish().describe('The account that may use it. Default: every account.'),
      ...changeableFields,
    }),
    output: template,
  }),

  get: operation({
    method: 'GET',
    path: '/v1/templates/{templateId}',
    scope: 'read',
    summary: 'Read a template with its content.',
    refuses: ['template_not_found'],
    params: templatePath,
    output: template,
  }),

  update: operation({
    method: 'PATCH',
    path: '/v1/templates/{templateId}',
    scope: 'write',
    audit: 'template.update',
    bodyBytesMax: TEMPLATE_BODY_BYTES_MAX,
    summary: 'Change a template.',
    description:
      'Only the fields that are present change. Messages that were queued before keep what they were rendered with.',
    refuses: ['invalid_template', 'template_name_taken', 'template_not_found'],
    params: templatePath,
    body: z.strictObject({ ...changeableFields, name: changeableFields.name.optional() }),
    output: template,
  }),

  delete: operation({
    method: 'DELETE',
    path: '/v1/templates/{templateId}',
    scope: 'write',
    audit: 'template.delete',
    summary: 'Delete a template.',
    description: 'Messages that were queued before keep what they were rendered with.',
    refuses: ['template_not_found'],
    params: templatePath,
    output: z.null(),
  }),
}

export const templateRenders = {
  create: operation({
    method: 'POST',
    path: '/v1/template-renders',
    scope: 'read',
    bodyBytesMax: TEMPLATE_BODY_BYTES_MAX,
    bodyValuesMax: RENDER_BODY_VALUES_MAX,
    summary: 'Render a template as a send would.',
    description:
      'Stores and sends nothing. Takes a stored template, or the fields of one. `{{account.…}}` is the account of ' +
      '`accountId`, else that of the template; `{{rcpt.…}}` is empty.',
    refuses: [
      'invalid_template',
      'params_too_large',
      'template_account_mismatch',
      'template_and_inline_fields',
      'template_render_failed',
      'unknown_account',
      'unknown_template',
    ],
    body: z.strictObject({
      templateId: uuidInput.nullish(),
      accountId: uuidInput.nullish(),
      ...templateFieldInputs,
      format: templateFormat.nullish().describe('Default: `html`.'),
      params: templateParams.optional(),
    }),
    output: renderedTemplate,
  }),
}
