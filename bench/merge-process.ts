/** The yardstick of a merge in a separate process: Handlebars and nodemailer's MIME for each entry, stored nowhere. */
import Handlebars from 'handlebars'
import MailComposer from 'nodemailer/lib/mail-composer/index.js'
import { answerTask, runTask } from './child-task.ts'

interface Task {
  subject: string
  html: string
  entries: ReadonlyArray<{ to: { name: string; address: string }; params: Record<string, unknown> }>
}

export interface MergeFigures {
  perSecond: number
}

export function runMergeYardstick(task: Task): Promise<MergeFigures> {
  return runTask(import.meta.url, task)
}

async function composeAll({ subject, html, entries }: Task): Promise<MergeFigures> {
  const start = performance.now()
  const [subjectOf, htmlOf] = [Handlebars.compile(subject, { noEscape: true }), Handlebars.compile(html)]
  for (const { to, params } of entries) {
    const rendered = htmlOf({ params })
    const text = rendered.replaceAll(/<[^>]+>/g, '')
    const mail = { from: 'ada@bench.test', to, subject: subjectOf({ params }), html: rendered, text }
    await new MailComposer(mail).compile().build()
  }
  return { perSecond: (entries.length * 1000) / (performance.now() - start) }
}

if (import.meta.main) await answerTask(composeAll)
