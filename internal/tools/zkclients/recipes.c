/* The C client against the server in argv[1]; every check ends the program with 1 when it fails. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zookeeper/zookeeper.h>

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int connected, events, last_type;
static char last_path[256];

#define CHECK(name, good) do { if (!(good)) { fprintf(stderr, "C client: %s (line %d)\n", name, __LINE__); exit(1); } } while (0)

static void told(zhandle_t *zh, int type, int state, const char *path, void *ctx) {
	(void)zh; (void)ctx;
	pthread_mutex_lock(&mu);
	if (type == ZOO_SESSION_EVENT) {
		connected += state == ZOO_CONNECTED_STATE;
	} else {
		events++;
		last_type = type;
		snprintf(last_path, sizeof last_path, "%s", path);
	}
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mu);
}

static void await(int *what, int least) {
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	pthread_mutex_lock(&mu);
	while (*what < least)
		if (pthread_cond_timedwait(&cond, &mu, &until)) {
			fprintf(stderr, "C client: nothing came within 30 s\n");
			exit(1);
		}
	pthread_mutex_unlock(&mu);
}

static zhandle_t *dial(const char *hosts) {
	int before = connected;
	zhandle_t *zh = zookeeper_init(hosts, told, 10000, NULL, NULL, 0);
	CHECK("handle", zh != NULL);
	await(&connected, before + 1);
	return zh;
}

/* The oldest of the numbered nodes leads. */
static int leads(zhandle_t *zh, const char *me) {
	struct String_vector names;
	int first = 1;
	CHECK("children", zoo_get_children(zh, "/c/election", 0, &names) == ZOK);
	for (int i = 0; i < names.count; i++)
		first &= strcmp(names.data[i], me + strlen("/c/election/")) >= 0;
	deallocate_String_vector(&names);
	return first;
}

int main(int argc, char **argv) {
	char path[256], other[256], data[64];
	int n;
	struct Stat st;
	CHECK("one argument", argc == 2);
	zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
	zhandle_t *a = dial(argv[1]), *b = dial(argv[1]);
	CHECK("create", zoo_create(a, "/c", "x", 1, &ZOO_OPEN_ACL_UNSAFE, 0, path, sizeof path) == ZOK);
	CHECK("there already", zoo_create(a, "/c", "x", 1, &ZOO_OPEN_ACL_UNSAFE, 0, path, sizeof path) == ZNODEEXISTS);
	n = sizeof data;
	CHECK("get with a watch", zoo_wget(a, "/c", told, NULL, data, &n, &st) == ZOK && n == 1 && data[0] == 'x' && st.version == 0);
	CHECK("set", zoo_set2(b, "/c", "yy", 2, 0, &st) == ZOK && st.version == 1);
	await(&events, 1);
	CHECK("event", last_type == ZOO_CHANGED_EVENT && !strcmp(last_path, "/c"));
	CHECK("wrong version", zoo_set(b, "/c", "z", 1, 7) == ZBADVERSION);

	CHECK("parent", zoo_create(a, "/c/election", NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0, path, sizeof path) == ZOK);
	CHECK("first", zoo_create(a, "/c/election/n-", NULL, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL | ZOO_SEQUENCE, path, sizeof path) == ZOK);
	CHECK("second", zoo_create(b, "/c/election/n-", NULL, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL | ZOO_SEQUENCE, other, sizeof other) == ZOK);
	CHECK("numbers", !strcmp(path, "/c/election/n-0000000000") && !strcmp(other, "/c/election/n-0000000001"));
	CHECK("the first leads", leads(a, path) && !leads(b, other));
	CHECK("watch of the one before", zoo_wexists(b, path, told, NULL, &st) == ZOK && st.ephemeralOwner == zoo_client_id(a)->client_id);
	CHECK("end of the first", zookeeper_close(a) == ZOK);
	await(&events, 2);
	CHECK("then the second leads", last_type == ZOO_DELETED_EVENT && leads(b, other));

	zoo_op_t ops[3];
	zoo_op_result_t results[3];
	zoo_create_op_init(&ops[0], "/c/m", "1", 1, &ZOO_OPEN_ACL_UNSAFE, 0, path, sizeof path);
	zoo_check_op_init(&ops[1], "/c", 9);
	zoo_delete_op_init(&ops[2], "/c/m", -1);
	CHECK("multi refused", zoo_multi(b, 3, ops, results) == ZBADVERSION && results[1].err == ZBADVERSION && results[2].err == ZRUNTIMEINCONSISTENCY);
	CHECK("nothing of it", zoo_exists(b, "/c/m", 0, &st) == ZNONODE);
	zoo_check_op_init(&ops[1], "/c", 1);
	CHECK("multi taken", zoo_multi(b, 3, ops, results) == ZOK);
	CHECK("auth", zoo_add_auth(b, "digest", "joe:secret", 10, NULL, NULL) == ZOK);
	CHECK("own node", zoo_create(b, "/c/own", "s", 1, &ZOO_CREATOR_ALL_ACL, 0, path, sizeof path) == ZOK);
	a = dial(argv[1]);
	n = sizeof data;
	CHECK("closed to others", zoo_get(a, "/c/own", 0, data, &n, &st) == ZNOAUTH);
	CHECK("clean up", zoo_delete(b, "/c/own", -1) == ZOK && zoo_delete(b, other, -1) == ZOK && zoo_delete(b, "/c/election", -1) == ZOK && zoo_delete(b, "/c", -1) == ZOK);
	zookeeper_close(a);
	zookeeper_close(b);
	puts("C client: nodes, watches, election, multi, authorisation");
	return 0;
}
