import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { clientSettings } from '../../src/database/pool.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { logging, startDaemon } from './daemon.ts'
import type { DavTestServer } from './dav-test-server.ts'
import { requireDavical, requireProgram } from './install.ts'
import { makeUpName } from './mail-server.ts'

/** The files that `create-database.sh` and `update-davical-database` load, in their order, below the folder of shared files. */
const SCHEMA = [
  'awl/dba/awl-tables.sql',
  'awl/dba/schema-management.sql',
  'davical/dba/davical.sql',
  'davical/dba/caldav_functions.sql',
  'davical/dba/rrule_functions.sql',
  'davical/dba/base-data.sql',
  'davical/dba/views/dav_principal.sql',
]

/** Others may invite each user, as after an installation by the book. */
const ADD_USER = `
  with added as (
    insert into usr (active, email_ok, updated, username, password, fullname, email)
    values (true, current_date, current_date, $1, '**' || $2, $1, $3) returning user_no
  )
  insert into principal (type_id, user_no, displayname, default_privileges)
  select 1, user_no, $1, privilege_to_bits(array['read-free-busy', 'schedule-query', 'schedule-deliver']) from added`

/** Every path belongs to the one script, as Apache does it by an alias. */
const ROUTER = `<?php
chdir(__DIR__ . '/htdocs');
$_SERVER['SCRIPT_NAME'] = '/caldav.php';
$_SERVER['PATH_INFO'] = preg_replace('#^/caldav\\.php#', '', parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH));
error_reporting(E_ALL & ~E_DEPRECATED & ~E_NOTICE & ~E_WARNING);
date_default_timezone_set('UTC');
require 'caldav.php';
`

/** Starts a DAViCal of its own on a free loopback port, in the server that PHP has for development. */
export async function startDavical(): Promise<DavTestServer> {
  const { share, extensions, env } = requireDavical()
  const command = requireProgram('php')
  await using opened = new AsyncDisposableStack()
  const { database } = opened.use(await makeExternalDatabase())
  const client = new Client(clientSettings(database.address, 'davical'))
  await client.connect()
  opened.defer(() => client.end())
  for (const file of SCHEMA) await client.query(await readFile(join(share, file), 'utf8'))
  const daemon = opened.use(
    await startDaemon({
      name: 'davical',
      portCount: 1,
      isSilent: true,
      async prepare(folder, [port = 0]) {
        await cp(join(share, 'davical/htdocs'), join(folder, 'htdocs'), { recursive: true })
        await mkdir(join(folder, 'config'))
        await writeFile(join(folder, 'config/config.php'), configOf(client))
        await writeFile(join(folder, 'router.php'), ROUTER)
        const includes = [join(share, 'davical/inc'), join(share, 'awl/inc')].join(':')
        const settings = [...extensions.map(file => `extension=${file}`), `include_path=${includes}`]
        const router = join(folder, 'router.php')
        const args = [...settings.flatMap(setting => ['-d', setting]), '-S', `127.0.0.1:${port}`, router]
        return { ...logging(join(folder, 'davical.log'), command, args), env }
      },
    }),
  )
  const owned = opened.move()
  return {
    kind: 'davical',
    url: new URL(`http://127.0.0.1:${daemon.ports[0]}/caldav.php/`),
    async addUser() {
      const name = makeUpName()
      const user = { user: name, password: `secret of ${name}`, email: `${name}@dav.test` }
      await client.query(ADD_USER, [user.user, user.password, user.email])
      return { ...user, homePath: `/caldav.php/${name}/`, calendarHomePath: `/caldav.php/${name}/` }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Reads its database as its own user would. */
function configOf({ host, port, user, password, database }: Client): string {
  const address = { host, port, user, password, dbname: database }
  const words = Object.entries(address).map(([name, value]) => `${name}=${value}`)
  return `<?php
$c->pg_connect[] = '${words.join(' ')}';
$c->admin_email = 'admin@dav.test';
$c->system_name = 'DAViCal';
$c->default_locale = 'C';
`
}
