-- All tables of the store: t is the number of the table. bytea sorts as bytes.
create table legwork_kv (
	t smallint not null,
	k bytea    not null,
	v bytea    not null,
	primary key (t, k)
);

-- One row. A commit locks it, so that there is one writer at a time, and writes its
-- own id into it. The row is replaced at each commit: the free space of its page
-- keeps the replacements in the page.
create table legwork_store (
	id        smallint primary key check (id = 1),
	format    integer not null,
	commit_id uuid    not null,
	fence     bigint  not null
) with (fillfactor = 10);
insert into legwork_store values (1, 3, '00000000-0000-0000-0000-000000000000', 0);

-- One row: the lease of the process that may write. It is apart from legwork_store,
-- so that a commit that takes long does not hold up its renewal.
create table legwork_lease (
	id         smallint primary key check (id = 1),
	fence      bigint      not null,
	holder     text        not null, -- empty: the lease is free
	since      timestamptz not null,
	expires_at timestamptz not null,
	asked_at   timestamptz not null -- when a standby asked for it last
) with (fillfactor = 10);
insert into legwork_lease values (1, 0, '', now(), now(), '-infinity');
